/** Whether the outcomes of requests are reported, for policies that charge afterwards. */
import { setTimeout } from 'node:timers/promises';
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { listText, plural } from '../../../gateway/operations/texts.ts';
import { found } from '../catalog.ts';
import { type GatewayState, gatewayState } from '../gateway-state.ts';

/** How often the gateway is asked whether an outcome has come. */
const TRIES = 20;
const PAUSE_MS = 250;
const wait = () => setTimeout(PAUSE_MS);

export interface SettlementOptions {
  readonly url: URL;
  readonly opsUrl: string;
  /** The names of the policies that charge afterwards. */
  readonly settling: readonly string[];
  /** As it was before the first request. */
  readonly before: GatewayState;
  /** Resolves when the gateway is to be asked again. */
  readonly pause?: (() => Promise<unknown>) | undefined;
}

export async function* settlementFindings(options: SettlementOptions): AsyncGenerator<Diagnostic> {
  const { url, settling, before } = options;
  if (settling.length === 0) return;
  const after = await stateOnceSettled(options);
  if (after === undefined) return;
  const reported: string[] = [];
  const unused: string[] = [];
  for (const policy of settling) {
    const all = counts(policy, after);
    const own = counts(policy, after, before);
    const isOwn = own.reserved > 0;
    if ((isOwn ? own : all).settled > 0) reported.push(policy);
    else if (all.reserved === 0) unused.push(policy);
    else {
      const requests = isOwn
        ? `${own.reserved} of these requests`
        : plural(all.reserved, 'earlier request');
      const problem = `${policy} reserved for ${requests}, and no outcome was reported${isOwn ? ` within ${(TRIES * PAUSE_MS) / 1_000} s` : ''}`;
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
async function stateOnceSettled({ opsUrl, settling, before, pause = wait }: SettlementOptions) {
  let state = await gatewayState(opsUrl);
  for (let i = 0; i < TRIES && state !== undefined; i++) {
    const now = state;
    const own = settling.map((policy) => counts(policy, now, before));
    if (own.every(({ reserved, settled }) => reserved <= 0 || settled > 0)) break;
    await pause();
    state = await gatewayState(opsUrl);
  }
  return state;
}

/** Of requests of a policy. Without `before`: since the gateway started. */
function counts(policy: string, after: GatewayState, before?: GatewayState) {
  const since = (what: 'reservations' | 'settlements') =>
    (after.outcomes[what].get(policy) ?? 0) - (before?.outcomes[what].get(policy) ?? 0);
  return { reserved: since('reservations'), settled: since('settlements') };
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
