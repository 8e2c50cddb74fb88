/** Whether a denial of headgate reaches the client. */
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import { type GatewayState, gatewayState } from '../gateway-state.ts';
import { ask, type Target } from './through-answer.ts';

/** headgate refuses such a path without counting the request. No application has it. */
const REFUSED = '%0A';

/** Only the counters of the gateway tell its refusal from another one. */
export async function* denialFindings(target: Target, opsUrl: string): AsyncGenerator<Diagnostic> {
  const url = new URL(target.url);
  url.pathname += REFUSED;
  const before = await gatewayState(opsUrl);
  const answer = before && (await ask({ ...target, url }));
  if (answer === undefined || answer instanceof Error || answer.isDenial) return;
  const after = await gatewayState(opsUrl);
  if (hasDenied(before, after))
    yield found('denial-lost', url.href, `status ${answer.status}: ${DENIAL_LOST}`);
}

/** Whether the gateway has denied a request in between. */
export function hasDenied(
  before: GatewayState | undefined,
  after: GatewayState | undefined,
): boolean {
  return before !== undefined && after !== undefined && after.denied > before.denied;
}

export const DENIAL_LOST = 'headgate denied this request, and its answer did not reach the client';
