/** Gives each denial the id that clients, logs and operators know it by. */
import type { Decision, Denied } from './decision.ts';
import type { ClientIdentity } from './identity.ts';

/** Creates the id of a denial. With `isShadow`, no request was denied: a policy in shadow mode would have denied it. */
export type NewDenialId = (decision: Decision, denied: Denied, isShadow: boolean) => string;

/** Adds the denial to a decision that denies; returns any other decision as it is. */
export type NameDenial = (
  decision: Decision,
  client: ClientIdentity,
  isShadow?: boolean,
) => Decision;

export function createDenialNaming(newId: NewDenialId): NameDenial {
  return (decision, client, isShadow = false) => {
    if (decision.verdict === 'allow') return decision;
    const denied = deniedClient(client);
    return { ...decision, denial: { id: newId(decision, denied, isShadow), ...denied } };
  };
}

function deniedClient({ partition, kind, address, apiKey }: ClientIdentity): Denied {
  const isMadeUp = apiKey?.partition === partition && apiKey.unverified;
  return { client: partition, isMadeUp, address, identity: kind };
}
