/** Why a client is denied and what is left of its limits, or what a policy is. */
import { clientText, durationText, inForceText } from '../../gateway/operations/texts.ts';
import { inspectionText } from '../ops-client/client-text.ts';
import { denialText } from '../ops-client/denial-text.ts';
import { callGateway, type GatewayFlags, GatewayRefused } from '../ops-client/gateway-client.ts';
import { columns } from '../output/table.ts';
import { type Form, startForm } from './form.ts';
import type { DeniedClient, Policy } from './gather.ts';
import { denialsOf } from './rows.ts';
import { sum } from './tables.ts';

/** The denial and the limits, each replaced by the reason if it cannot be read. */
export async function explainClient(
  { decision_id: id }: DeniedClient,
  flags: GatewayFlags,
): Promise<string[]> {
  const [denial, limits] = await Promise.all([
    orRefusal(async () =>
      denialText((await callGateway(flags, 'decision', { id })).read(), Date.now()),
    ),
    orRefusal(async () =>
      inspectionText((await callGateway(flags, 'inspect', { client: id })).read(), Date.now()),
    ),
  ]);
  return [...denial, '', ...limits];
}

export async function liftForm(client: DeniedClient, flags: GatewayFlags): Promise<Form | string> {
  const name = clientText(client);
  try {
    const { override } = (await callGateway(flags, 'decision', { id: client.decision_id })).read();
    if (override?.about !== 'client') return `no override is in force for ${name}`;
    const action = override.access === 'blocked' ? 'unblock' : 'unexempt';
    const note = inForceText(override, Date.now());
    // It may be one of the client's address, which the decision id does not lift.
    return startForm(action, { id: override.client, name: clientText(override) }, note);
  } catch (error) {
    return refusalIn(error);
  }
}

export function policyText(policy: Policy, stepMs: number): string[] {
  const { name, mode, mode_of_file: ofFile, limits, plans = [] } = policy;
  const { on_store_failure: onFailure } = policy;
  const denied = mode === 'shadow' ? 'that it would have denied' : 'denied';
  const last = durationText((policy.requests.length * stepMs) / 1_000);
  return columns([
    ['policy', name],
    ['mode', mode === ofFile ? mode : `${mode}, by an operator; ${ofFile} in the file`],
    ...limits.map((limit, i) => [i === 0 ? 'limits' : '', limit]),
    ...plans.flatMap(({ plan, limits: ofPlan }) =>
      ofPlan.map((limit, i) => [i === 0 ? `plan ${plan}` : '', limit]),
    ),
    ['if the store fails', onFailure],
    [`last ${last}`, `${sum(policy.requests).toLocaleString('en')} requests`],
    ['', `${sum(denialsOf(policy)).toLocaleString('en')} ${denied}`],
  ]);
}

async function orRefusal(read: () => Promise<string[]>): Promise<string[]> {
  try {
    return await read();
  } catch (error) {
    return [refusalIn(error)];
  }
}

function refusalIn(error: unknown): string {
  if (error instanceof GatewayRefused) return error.message;
  throw error;
}
