/** Clients: reset what was counted of them, block or exempt them for a time. */

import type { Access } from '../core/access-lists.ts';
import { keysOf } from '../core/descriptor.ts';
import { isOfMany } from '../core/partition.ts';
import { audited, putInForce } from './audit.ts';
import { clientNamed, decisionIdIn, type KnownClient, ofDay } from './client-name.ts';
import { deniedBy } from './denials.ts';
import { OperationError } from './operation-error.ts';
import { aboutClient, type Override } from './override.ts';
import type { OverrideReport } from './override-report.ts';
import { requirePolicy } from './policies.ts';
import type { Gateway } from './running-gateway.ts';
import { termsOf, type WrittenTerms } from './terms.ts';

export interface NamedClient {
  /** In one of the forms of client-name.ts. */
  readonly client: string;
}

interface Reset extends NamedClient {
  /** All of them if undefined. */
  readonly policy?: string | undefined;
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
}

interface Lifted extends NamedClient {
  readonly by?: string | undefined;
}

export function clientOperations(gateway: Gateway) {
  const { overrides, policies, store, now } = gateway;

  return {
    async reset({ client, policy, reason, by = 'unknown' }: Reset) {
      const set = policies.current;
      if (policy !== undefined) requirePolicy(gateway, policy);
      const affected = set.policies.filter(({ name }) => policy === undefined || name === policy);
      const { partitions } = await known(client);
      const keys = partitions.flatMap((partition) => keysOf(partition, affected));
      const [subject] = partitions;
      const change = `reset ${policy ?? 'all policies'}`;
      await audited(gateway, { action: 'reset', subject, change, reason, by }, () =>
        store.reset(keys),
      );
      return { client: subject, policies: [...new Set(affected.map(({ name }) => name))] };
    },
    block: (override: NamedClient & WrittenTerms) => setAccess('blocked', override),
    exempt: (override: NamedClient & WrittenTerms) => setAccess('exempt', override),
    unblock: (lifted: Lifted) => lift('blocked', lifted),
    unexempt: (lifted: Lifted) => lift('exempt', lifted),
  };

  async function setAccess(
    access: Access,
    { client, ...terms }: NamedClient & WrittenTerms,
  ): Promise<OverrideReport> {
    const held = termsOf(terms, now());
    const { own, overrideName, isProxy } = await known(client);
    if (access === 'exempt' && isProxy) {
      throw new OperationError(
        'invalid',
        'this is a trusted proxy, whose address may stand for anybody: it is never exempt',
      );
    }
    const name = overrideName(held.untilMs);
    const override: Override = { about: 'client', ...name, access, ...held };
    const action = access === 'blocked' ? 'block' : 'exempt';
    const told = { action, subject: name.client, change: access };
    return putInForce(gateway, override, told, async () => {
      // One client has one override, by whichever of its names.
      for (const other of own) {
        if (other !== name.client && find(other)) await overrides.remove(aboutClient(other));
      }
    });
  }

  async function lift(access: Access, { client, by = 'unknown' }: Lifted) {
    const { own } = await known(client);
    // What another gateway was told a moment ago counts, too.
    await overrides.refresh();
    const lifted = own.filter((name) => find(name)?.access === access);
    const [subject] = lifted;
    if (subject === undefined) {
      throw new OperationError('not_found', `no override has this client ${access}`);
    }
    const action = access === 'blocked' ? 'unblock' : 'unexempt';
    await audited(gateway, { action, subject, change: `no longer ${access}`, by }, async () => {
      for (const name of lifted) await overrides.remove(aboutClient(name));
    });
    return { client: subject };
  }

  function find(client: string) {
    return overrides
      .list()
      .filter((each) => each.about === 'client')
      .find((each) => each.client === client);
  }

  async function known(text: string): Promise<KnownClient> {
    const { naming } = policies.current;
    const salts = gateway.salts.at(now(), true);
    const id = decisionIdIn(text);
    if (id === undefined) return clientNamed(text, naming, salts);
    const { client, counted = client, names, networks, last } = await deniedBy(gateway, id);
    // What was counted for others as well stays.
    const shares = [client, ...names, counted, ...networks].filter((name) => !isOfMany(name));
    return {
      ...ofDay(client, Date.parse(last)),
      own: [...new Set([client, ...names])],
      partitions: [...new Set(shares)],
    };
  }
}
