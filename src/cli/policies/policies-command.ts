/** `headgate policies`: list policies, and change their modes. */
import { Argument, Command } from 'commander';
import { POLICY_MODES, type PolicyMode } from '../../gateway/core/policy.ts';
import { OPERATIONS } from '../../gateway/operations/operation-table.ts';
import type { PolicyList } from '../../gateway/operations/schemas/policies.ts';
import { callGateway, type GatewayFlags } from '../ops-client/gateway-client.ts';
import {
  type ChangeFlags,
  changeCommand,
  gatewayCommand,
  type OverrideFlags,
  operatorName,
  overrideCommand,
  overrideTerms,
} from '../ops-client/gateway-options.ts';
import { overrideText, toned } from '../ops-client/override-text.ts';
import { type Line, type OutputFlags, print, say, withOutput } from '../output/output.ts';
import { type Cell, table } from '../output/table.ts';

export function policiesCommand(): Command {
  return new Command('policies')
    .description('list the policies of the running gateways; change the mode of a policy')
    .addCommand(
      withOutput(gatewayCommand('list'))
        .description('list the policies with their limits and current modes')
        .action(list),
    )
    .addCommand(
      overrideCommand('mode')
        .description('change the mode of a policy temporarily')
        .argument('<policy>', 'name of the policy')
        .addArgument(new Argument('<mode>', 'the new mode').choices(POLICY_MODES))
        .action(setMode),
    )
    .addCommand(
      changeCommand('restore')
        .description('return a policy to the mode in the policy file')
        .argument('<policy>', 'name of the policy')
        .action(restore),
    );
}

async function list({ output, ...flags }: GatewayFlags & OutputFlags): Promise<void> {
  const answer = await callGateway(flags, OPERATIONS.listPolicies, {});
  print(output, answer.json, () => listText(answer.read()));
}

function listText({ policies }: PolicyList): Line[] {
  const rows = policies.map(({ name, mode, mode_of_file: ofFile, limits, plans = [] }) => [
    name,
    modeCell(mode, ofFile),
    [
      ...limits,
      ...plans.map(({ plan, limits: ofPlan }) => `plan ${plan}: ${ofPlan.join('; ')}`),
    ].join('; '),
  ]);
  return table(['POLICY', 'MODE', 'LIMITS'], rows);
}

function modeCell(mode: PolicyMode, ofFile: PolicyMode): Cell {
  if (mode === ofFile) return mode === 'enforce' ? mode : toned(mode);
  return [toned(mode), { text: ` (${ofFile} in the file)`, tone: 'aside' }];
}

async function setMode(policy: string, mode: PolicyMode, flags: OverrideFlags): Promise<void> {
  const input = { policy, mode, ...overrideTerms(flags) };
  const made = (await callGateway(flags, OPERATIONS.setMode, input)).read();
  say(overrideText(made, Date.now()));
}

async function restore(policy: string, flags: ChangeFlags): Promise<void> {
  await callGateway(flags, OPERATIONS.restoreMode, { policy, by: operatorName(flags) });
  say(`${policy}: override removed; the file's mode applies`);
}
