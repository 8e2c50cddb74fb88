/** Does what the operator confirmed, and says what came of it. */
import {
  accessText,
  liftedText,
  overrideText,
  resetText,
  restoredText,
} from '../ops-client/change-text.ts';
import { changeGateway, type GatewayFlags, GatewayRefused } from '../ops-client/gateway-client.ts';
import type { Form } from './form.ts';
import type { Notice } from './state.ts';

const NEVER_CONNECTED: readonly string[] = [
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
];

interface Caller {
  readonly flags: GatewayFlags;
  readonly by: string;
}

/** Never rejects with GatewayRefused. */
export async function makeChange(form: Form, caller: Caller): Promise<Notice> {
  try {
    return { level: 'good', text: (await change(form, caller)).join('; ') };
  } catch (error) {
    if (!(error instanceof GatewayRefused)) throw error;
    return { level: 'bad', text: `${form.action} ${form.subject.name}: ${outcomeOf(error)}` };
  }
}

async function change(form: Form, { flags, by }: Caller): Promise<string[]> {
  const { action, answers } = form;
  const { id, name } = form.subject;
  const terms = { for: answers.for ?? '', reason: answers.reason ?? '', by };
  switch (action) {
    case 'reset': {
      const input = { client: id, reason: answers.reason || undefined, by };
      return [resetText(name, await changeGateway(flags, action, input))];
    }
    case 'block':
    case 'exempt':
      return accessText(await changeGateway(flags, action, { client: id, ...terms }), Date.now());
    case 'unblock':
    case 'unexempt':
      return liftedText(name, await changeGateway(flags, action, { client: id, by }), Date.now());
    case 'mode': {
      const input = { policy: id, mode: answers.mode ?? 'enforce', ...terms };
      return [overrideText(await changeGateway(flags, 'setMode', input), Date.now())];
    }
    case 'restore':
      await changeGateway(flags, 'restoreMode', { policy: id, by });
      return [restoredText(name)];
  }
}

/** If the gateway got the call but its answer was lost, nobody knows here whether the change was made. */
function outcomeOf(error: GatewayRefused): string {
  if (error.cause === undefined) return error.message;
  if (wasSent(error.cause)) {
    return 'not confirmed, because no answer came: the change may or may not have been made; it is safe to try again';
  }
  return `nothing was changed: ${error.message}`;
}

function wasSent(cause: unknown): boolean {
  const { cause: inner } = cause as { cause?: { code?: unknown } };
  return !NEVER_CONNECTED.includes(String(inner?.code));
}
