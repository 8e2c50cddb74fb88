import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import type { Environment } from '../../../gateway/config/settings/environment.ts';
import { isThisMachine } from '../../../gateway/core/identity/address.ts';
import { isMcpHeader } from '../../../gateway/core/mcp/mcp-call.ts';
import { type FindingId, found } from '../catalog.ts';
import { type GatewayState, gatewayState } from '../gateway-state.ts';
import { opsUrlOf } from '../ports.ts';
import { CLAIMS, REPEATS, type ThroughOptions, throughFindings } from './client-view.ts';
import { type PolicyPaths, pathFindings } from './policy-paths.ts';
import { send } from './request.ts';
import { type SettlementOptions, settlementFindings } from './settlements.ts';
import { denialFindings, explained, UNCLEAR } from './unclear-replies.ts';

/** Counts requests without and with claims, those that measure the cost again, one with the headers that the policy file reads, and one that headgate refuses. */
export const MAX_REQUESTS = 6 + REPEATS + 2 * CLAIMS.length;
const MADE_UP = 'headgate-doctor';
const DECIDED: ReadonlySet<string> = new Set<FindingId>([
  ...(['through', 'spoofed-address', 'not-counted', 'denied-now', 'store-down'] as const),
  'headers-not-shown',
]);

export interface ThroughGatewayOptions
  extends Omit<ThroughOptions, 'costs'>,
    Pick<SettlementOptions, 'pause'> {
  readonly settings: Pick<Environment, 'host' | 'socket' | 'opsHost' | 'opsPort'>;
  readonly policies: ExaminedPolicies | undefined;
}

interface ExaminedPolicies {
  readonly digest: string;
  readonly headers: readonly string[];
  readonly paths: PolicyPaths;
  readonly costs: ReadonlySet<number>;
  /** The names of those that charge afterwards. */
  readonly settling: readonly string[];
}

export async function* throughGateway(options: ThroughGatewayOptions): AsyncGenerator<Diagnostic> {
  const opsUrl = opsUrlOf(options.settings);
  const before = await gatewayState(opsUrl);
  const { policies } = options;
  const isServed = policies !== undefined && before?.digests.includes(policies.digest) === true;
  // What comes back afterwards, or is added, says nothing of the cost of a request.
  const costs = isServed && policies.settling.length === 0 ? policies.costs : undefined;
  const ids = new Set<string>();
  for await (const finding of throughFindings({ ...options, costs })) {
    const hasReason = before !== undefined && UNCLEAR.has(finding.rule);
    const told = hasReason ? explained(finding, before, await gatewayState(opsUrl)) : finding;
    ids.add(told.rule);
    yield told;
  }
  const has = (id: FindingId) => ids.has(id);
  if (![...ids].some((id) => DECIDED.has(id))) return;
  const after = before && (await gatewayState(opsUrl));
  if (!has('headers-not-shown')) yield* ofPolicies(options, after);
  if (!has('denied-now')) yield* denialFindings(options.target, opsUrl);
  if (before === undefined || after === undefined) {
    yield unexamined(options, `no gateway answers at ${opsUrl}`, BOTH);
  } else if (after.checks <= before.checks) {
    const why = `the gateway at ${opsUrl} got none of these requests`;
    yield unexamined(options, why, BOTH);
  } else if (after.untrusted > before.untrusted) {
    yield untrusted(options, after.untrusted - before.untrusted);
  } else {
    yield* headerFindings(options, after);
    if (isServed) {
      const { pause, target } = options;
      const { settling } = policies;
      yield* settlementFindings({ url: target.url, opsUrl, settling, before, pause });
    }
  }
}

/** The paths of a file that the gateway does not serve say nothing. */
async function* ofPolicies(
  { target, policies }: ThroughGatewayOptions,
  gateway: GatewayState | undefined,
): AsyncGenerator<Diagnostic> {
  if (policies === undefined || gateway?.digests.includes(policies.digest) === false) return;
  yield* pathFindings(policies.paths, target);
}

const HEADERS = 'whether headers of clients reach it';
const BOTH = `whether it trusts the proxy, and ${HEADERS}`;
const OUTCOMES = 'whether outcomes of requests are reported';

function unexamined(
  { target, policies }: ThroughGatewayOptions,
  why: string,
  what: string,
): Diagnostic {
  const all = policies?.settling.length ? `${what}, and ${OUTCOMES}` : what;
  return found('not-examined', target.url.href, `${why}, so this was not examined: ${all}`);
}

function headersUnexamined({ href }: URL): Diagnostic {
  const why = 'the gateway did not get the request with headers';
  return found('not-examined', href, `${why}, so this was not examined: ${HEADERS}`);
}

function untrusted({ target, settings }: ThroughGatewayOptions, checks: number): Diagnostic {
  const remedy =
    settings.socket !== undefined || isThisMachine(settings.host)
      ? 'the proxy connects from this machine, so identity.trusted_proxies must have loopback'
      : 'identity.trusted_proxies must have the address from which the proxy connects';
  const counted = `${checks} ${checks === 1 ? 'check' : 'checks'}`;
  const problem = `the gateway does not trust the proxy that sent ${counted}: ${remedy}`;
  return found('proxy-not-trusted', target.url.href, problem);
}

async function* headerFindings(
  options: ThroughGatewayOptions,
  state: GatewayState,
): AsyncGenerator<Diagnostic> {
  const { target, settings, policies } = options;
  if (policies === undefined) return;
  const { url } = target;
  const opsUrl = opsUrlOf(settings);
  if (!state.digests.includes(policies.digest)) {
    yield unexamined(options, `the gateway at ${opsUrl} serves another policy file`, HEADERS);
    return;
  }
  const awaited = policies.headers.filter((name) => !state.seenHeaders.has(name));
  let seen = state.seenHeaders;
  if (awaited.length > 0) {
    const claims = awaited.map((name) => [name, MADE_UP] as const);
    const reply = await send(target, claims);
    if (reply instanceof Error || reply.bypass !== undefined) {
      yield headersUnexamined(url);
      return;
    }
    seen = (await gatewayState(opsUrl))?.seenHeaders ?? seen;
  }
  const lost = awaited.filter((name) => !seen.has(name));
  yield* lost.map((name) =>
    found(
      isMcpHeader(name) ? 'mcp-header-lost' : 'header-lost',
      url.href,
      `${name} was sent, and did not reach the gateway`,
    ),
  );
  if (lost.length > 0) return;
  const reach = policies.headers.length === 0 ? '' : `; ${policies.headers.join(', ')} reached it`;
  yield found('through', url.href, `the gateway at ${opsUrl} trusts the proxy${reach}`);
}
