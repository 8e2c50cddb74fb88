/** Whether a client is exempt or blocked, and by which entries of the policy file, as far as its name tells. */
import { type ClientAccess, NOT_LISTED } from '../core/identity/access-lists.ts';
import { compileAccess } from '../core/identity/client-access.ts';
import { isAddress } from '../core/identity/partition.ts';
import type { AccessEvent } from '../core/trace.ts';
import { addressNamed, type InspectedClient } from './counted-by.ts';
import { listedReports } from './listed-report.ts';
import type { Gateway } from './running-gateway.ts';
import type { ListedReport } from './schemas/listed.ts';

/** Stands for an address that is not known. No list or proxy has it. */
const UNKNOWN = '0.0.0.0';

export interface InspectedAccess {
  readonly access: ClientAccess | undefined;
  readonly listed: readonly ListedReport[];
  /** The client has an address that the lists of the policy file may name, and only its pseudonym is known. */
  readonly isAddressUnknown: boolean;
}

export function accessOf(
  { partition, partitions, address, text }: InspectedClient,
  { policies, overrides, salts, now }: Gateway,
): InspectedAccess {
  const { accessLists, trustedProxies } = policies.current.naming;
  const { listedClients } = policies.current;
  const nowMs = now();
  const id = listedClients.get(partition)?.id;
  const ofKey = id === undefined ? NOT_LISTED : accessLists.ofKey(id);
  const isKey = /^[ck]\./.test(partition);
  const [own = '', ...others] = partitions.filter(isAddress);
  const wider = others.map(addressNamed);
  const events: AccessEvent[] = [];
  const access = compileAccess(trustedProxies)(
    {
      apiKey: isKey
        ? { partition, unverified: id === undefined, plan: undefined, listed: ofKey }
        : undefined,
      user: partition.startsWith('u.') ? partition : undefined,
      address: {
        partition: address ?? { ...addressNamed(own), wider },
        listed: text === undefined ? NOT_LISTED : accessLists.ofAddress(text),
      },
      reported: text ?? UNKNOWN,
    },
    {
      nowMs,
      salts: salts.at(nowMs, true),
      overrides: overrides.current,
      trace: (event) => void (event.type === 'access' && events.push(event)),
    },
  );
  const entries = [...accessLists.exempt, ...accessLists.block];
  return {
    access,
    listed: events.flatMap((event) => listedReports(event, nowMs)),
    isAddressUnknown:
      isAddress(partition) &&
      text === undefined &&
      entries.some((entry) => entry.address !== undefined),
  };
}
