import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { type FindingId, found } from '../catalog.ts';
import { type GatewayState, gatewayState } from '../gateway-state.ts';
import { send, type Target } from './request.ts';

export const UNCLEAR: ReadonlySet<string> = new Set<FindingId>([
  ...(['answered-403', 'gateway-unreachable', 'answered-by-site', 'not-limited'] as const),
]);

/** Says why an answer lacks the headers of headgate or is not its denial, by the counters before and after it. */
export function explained(
  finding: Diagnostic,
  before: GatewayState,
  after: GatewayState | undefined,
): Diagnostic {
  if (after === undefined) return finding;
  const { rule, file, message } = finding;
  const isChecked = after.checks > before.checks;
  if (rule === 'gateway-unreachable') {
    // With this header, the requests pass: a page of the site does not look so.
    if (message.includes('X-RateLimit-Bypass')) return finding;
    return found('answered-503', file, `${message}: ${isChecked ? CHECKED_503 : UNCHECKED_503}`);
  }
  if (rule === 'not-limited')
    return isChecked ? found('headers-not-shown', file, message) : finding;
  if (hasDenied(before, after)) return found('denial-lost', file, `${message}: ${DENIAL_LOST}`);
  if (after.refused > before.refused)
    return { ...finding, message: `${message}: ${WRONG_SECRET[0]}`, remedy: WRONG_SECRET[1] };
  if (isChecked) return { ...finding, message: `${message}: ${ALLOWED}` };
  const unchecked = { ...finding, message: `${message}: ${NOT_CHECKED[0]}` };
  return rule === 'answered-by-site' ? unchecked : { ...unchecked, remedy: NOT_CHECKED[1] };
}

const CHECKED_503 = 'the gateway runs and got the check';
const UNCHECKED_503 = 'the gateway runs and got no check';
const ALLOWED = 'the gateway allowed the request, so the application has answered';
const WRONG_SECRET = [
  'the gateway refused the check, because the secret of the proxy is missing or wrong',
  'Put the value of `HEADGATE_PROXY_SECRET` into the file of the proxy, and reload the proxy.',
] as const;
const NOT_CHECKED = [
  'the gateway got no check, so the proxy or the application has answered',
  'Try a path that the application answers without a login. If every path is answered so, the proxy asks another gateway, or none.',
] as const;

/** headgate refuses such a path without counting the request. No application has it. */
const REFUSED = '%0A';

/** Only the counters of the gateway tell its refusal from another one. */
export async function* denialFindings(target: Target, opsUrl: string): AsyncGenerator<Diagnostic> {
  const url = new URL(target.url);
  url.pathname += REFUSED;
  const before = await gatewayState(opsUrl);
  const reply = before && (await send({ ...target, url }));
  if (reply === undefined || reply instanceof Error || reply.isDenial) return;
  const after = await gatewayState(opsUrl);
  if (hasDenied(before, after))
    yield found('denial-lost', url.href, `status ${reply.status}: ${DENIAL_LOST}`);
}

function hasDenied(before: GatewayState | undefined, after: GatewayState | undefined): boolean {
  return before !== undefined && after !== undefined && after.denied > before.denied;
}

const DENIAL_LOST = 'headgate denied this request, and its answer did not reach the client';
