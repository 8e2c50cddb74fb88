/** Does what the operator confirmed, and says what came of it. */
import { accessText, liftedText, overrideText, resetText } from '../ops-client/change-text.ts';
import { callGateway, type GatewayFlags, GatewayRefused } from '../ops-client/gateway-client.ts';
import type { ActionName, Form } from './form.ts';
import type { Notice } from './state.ts';

/** `by` is the name for the audit log. */
type Change = (form: Form, flags: GatewayFlags, by: string) => Promise<string>;

const CHANGES: Readonly<Record<ActionName, Change>> = {
  async reset({ subject, answers }, flags, by) {
    const reason = answers.reason === '' ? undefined : answers.reason;
    const input = { client: subject.id, reason, by };
    const done = (await callGateway(flags, 'reset', input)).read();
    return resetText(subject.name, done);
  },
  block: (form, flags, by) => override('block', form, { flags, by }),
  exempt: (form, flags, by) => override('exempt', form, { flags, by }),
  unblock: (form, flags, by) => lift('unblock', form, { flags, by }),
  unexempt: (form, flags, by) => lift('unexempt', form, { flags, by }),
  async mode(form, flags, by) {
    const { mode = 'enforce' } = form.answers;
    const input = { policy: form.subject.id, mode, ...termsOf(form), by };
    const made = (await callGateway(flags, 'setMode', input)).read();
    return overrideText(made, Date.now());
  },
  async restore({ subject }, flags, by) {
    await callGateway(flags, 'restoreMode', { policy: subject.id, by });
    return `${subject.name}: override removed; the file's mode applies`;
  },
};

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
export async function makeChange(form: Form, { flags, by }: Caller): Promise<Notice> {
  try {
    return { level: 'good', text: await CHANGES[form.action](form, flags, by) };
  } catch (error) {
    if (!(error instanceof GatewayRefused)) throw error;
    return { level: 'bad', text: `${form.action} ${form.subject.name}: ${outcomeOf(error)}` };
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

async function override(
  operation: 'block' | 'exempt',
  form: Form,
  { flags, by }: Caller,
): Promise<string> {
  const input = { client: form.subject.id, ...termsOf(form), by };
  const made = (await callGateway(flags, operation, input)).read();
  return accessText(made, Date.now()).join('; ');
}

async function lift(
  operation: 'unblock' | 'unexempt',
  { subject }: Form,
  { flags, by }: Caller,
): Promise<string> {
  const lifted = (await callGateway(flags, operation, { client: subject.id, by })).read();
  return liftedText(subject.name, lifted, Date.now()).join('; ');
}

function termsOf({ answers }: Form) {
  return { for: answers.for ?? '', reason: answers.reason ?? '' };
}
