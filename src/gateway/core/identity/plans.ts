/** The plan that a trusted proxy names for a client whose key has none. An address alone has none, because anybody can have it. */
import type { CheckRequest } from '../check-request.ts';
import type { Trace } from '../trace.ts';
import type { ApiKey } from './api-key.ts';
import type { HeaderClaims } from './claims.ts';
import type { ClaimedIdentity } from './partition.ts';
import { compileVouched, type Vouched } from './vouched.ts';

interface KnownClient {
  readonly apiKey: ApiKey | undefined;
  readonly user: string | undefined;
  readonly headers: HeaderClaims;
}

export function compilePlans(plan: Vouched | undefined) {
  const read = plan && compileVouched(plan);
  const ofPlan = plan && 'header' in plan ? `header:${plan.header}` : undefined;
  const isVerified = ([name, { unverified }]: readonly [string, ClaimedIdentity]) =>
    !unverified && name !== ofPlan;
  const isKnown = ({ apiKey, user, headers }: KnownClient) =>
    apiKey?.unverified === false || user !== undefined || [...headers].some(isVerified);
  return {
    /** Undefined without `identity.plan`. Ask only about requests of trusted proxies. */
    named:
      read &&
      ((request: CheckRequest, client: KnownClient) =>
        isKnown(client) ? read(request) : undefined),
    trace(
      request: CheckRequest,
      client: KnownClient & { readonly isTrusted: boolean },
      trace: Trace,
    ): void {
      const { apiKey, isTrusted } = client;
      if (apiKey?.plan !== undefined) {
        const from = apiKey.listedIn === 'store' ? 'store' : 'policy file';
        trace({ type: 'plan', plan: apiKey.plan, from, ignored: undefined });
      }
      if (plan === undefined) return;
      const found = read?.(request);
      const reason = !isTrusted
        ? 'untrusted-proxy'
        : !isKnown(client)
          ? 'unknown-client'
          : undefined;
      const ignored = reason ?? (apiKey?.plan === undefined ? undefined : 'outranked');
      trace({ type: 'plan', plan: found, from: plan, ignored });
    },
  };
}
