import type { HeaderFields } from './check-request.ts';
import type { Decision, Denied } from './counting/decision.ts';
import type { ClientIdentity } from './identity/identity.ts';
import { readTraceContext } from './trace-context.ts';

/** With `isShadow`, no request was denied: a policy in shadow mode would have denied it. */
export type NewDenialId = (decision: Decision, denied: Denied, isShadow: boolean) => string;

export type NameDenial = (
  decision: Decision,
  client: ClientIdentity,
  headers: HeaderFields,
) => Decision;

export function createDenialNaming(newId: NewDenialId, isShadow = false): NameDenial {
  return (decision, client, headers) => {
    if (decision.verdict === 'allow') return decision;
    return withDenial(decision, deniedClient(client), { newId, isShadow, headers });
  };
}

export interface Naming {
  readonly newId: NewDenialId;
  readonly isShadow: boolean;
  /** A denial is also found by the trace id that they may have. */
  readonly headers: HeaderFields;
}

export function withDenial(
  decision: Decision,
  denied: Denied,
  { newId, isShadow, headers }: Naming,
): Decision {
  const id = newId(decision, denied, isShadow);
  return { ...decision, denial: { id, traceId: readTraceContext(headers)?.traceId, ...denied } };
}

function deniedClient({ partition, kind, address, apiKey, accessBy }: ClientIdentity): Denied {
  const isMadeUp = apiKey?.partition === partition && apiKey.unverified;
  return { client: partition, isMadeUp, address, identity: kind, accessBy };
}
