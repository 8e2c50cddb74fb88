/** Whether the outcomes of requests are reported, for policies that charge afterwards. */
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { listText, plural } from '../../../gateway/operations/texts.ts';
import { found } from '../catalog.ts';
import { type GatewayState, gatewayState } from '../gateway-state.ts';

/** How often the gateway is asked whether an outcome has come. */
const TRIES = 20;
export const PAUSE_MS = 250;

export interface SettlementOptions {
  readonly url: URL;
  readonly opsUrl: string;
  /** The names of the policies that charge afterwards. */
  readonly settling: readonly string[];
  /** As it was before the first request. */
  readonly before: GatewayState;
  /** Resolves after PAUSE_MS. */
  readonly pause: () => Promise<unknown>;
}

export async function* settlementFindings(options: SettlementOptions): AsyncGenerator<Diagnostic> {
  const { url, settling, before } = options;
  if (settling.length === 0) return;
  const after = await stateOnceSettled(options);
  if (after === undefined) return;
  const reported: string[] = [];
  const unused: string[] = [];
  for (const policy of settling) {
    const all = after.outcomes.reservations.get(policy) ?? 0;
    const own = all - (before.outcomes.reservations.get(policy) ?? 0);
    if (hasRisen(policy, own > 0 ? before : undefined, after)) reported.push(policy);
    else if (all === 0) unused.push(policy);
    else {
      const requests = own > 0 ? `${own} of these requests` : plural(all, 'earlier request');
      const problem = `${policy} reserved for ${requests}, and no outcome was reported${own > 0 ? ` within ${(TRIES * PAUSE_MS) / 1_000} s` : ''}`;
      yield found('not-settled', url.href, `${problem}; ${whatIsConnected(before, after)}`);
    }
  }
  if (reported.length > 0)
    yield found('through', url.href, `outcomes of ${listText(reported)} reach the gateway`);
  if (unused.length > 0)
    yield found(
      'not-reserved',
      url.href,
      `no request of ${listText(unused)} has come, so it is unknown whether outcomes are reported`,
    );
}

/** Undefined if the gateway no longer answers. */
async function stateOnceSettled({ opsUrl, settling, before, pause }: SettlementOptions) {
  let state = await gatewayState(opsUrl);
  for (let i = 0; i < TRIES && state !== undefined; i++) {
    const { reservations } = state.outcomes;
    const isReserved = (policy: string) =>
      (reservations.get(policy) ?? 0) > (before.outcomes.reservations.get(policy) ?? 0);
    const own = settling.filter(isReserved);
    if (own.every((policy) => hasRisen(policy, before, state as GatewayState))) break;
    await pause();
    state = await gatewayState(opsUrl);
  }
  return state;
}

/** `before` is undefined if any outcome since the start of the gateway counts. */
function hasRisen(policy: string, before: GatewayState | undefined, after: GatewayState): boolean {
  return (
    (after.outcomes.settlements.get(policy) ?? 0) > (before?.outcomes.settlements.get(policy) ?? 0)
  );
}

function whatIsConnected(before: GatewayState, after: GatewayState): string {
  const unknown = after.outcomes.unknownTokens - before.outcomes.unknownTokens;
  if (unknown > 0)
    return `${plural(unknown, 'report')} had a token that this gateway did not sign, or a part of one`;
  const { channels, refusedReports } = after.outcomes;
  if (refusedReports > 0)
    return `${plural(refusedReports, 'report')} to POST /settle had no HEADGATE_SETTLE_SECRET or a wrong one`;
  if (channels.has('envoy'))
    return 'access logs of Envoy reach the gateway, and their entries have no token of this policy';
  if (channels.has('settle'))
    return 'an application reports others to POST /settle, so the token of this policy did not reach it, or it does not report it';
  return 'nothing reports to this gateway: neither an application to POST /settle, nor Envoy by its access log';
}
