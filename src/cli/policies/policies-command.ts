/** `headgate policies`: list policies, and change their modes. */
import { Argument, Command } from 'commander';
import { POLICY_MODES, type PolicyMode } from '../../gateway/core/policy.ts';
import type { Output } from '../../gateway/operations/operation-table.ts';
import { tableOf, toned } from '../ops-client/cells.ts';
import { overrideText, restoredText } from '../ops-client/change-text.ts';
import { changeGateway, type GatewayFlags, printAnswer } from '../ops-client/gateway-client.ts';
import {
  type ChangeFlags,
  changeCommand,
  gatewayCommand,
  type OverrideFlags,
  operatorName,
  overrideCommand,
  overrideTerms,
} from '../ops-client/gateway-options.ts';
import { type Line, type OutputFlags, say, withOutput } from '../output/output.ts';
import type { Cell } from '../output/table.ts';

export function policiesCommand(): Command {
  return new Command('policies')
    .description('list the policies of the running gateways; change the mode of a policy')
    .addCommand(
      withOutput(gatewayCommand('list'))
        .description('list the policies with their limits and current modes')
        .action((flags: GatewayFlags & OutputFlags) =>
          printAnswer(flags, 'listPolicies', { input: {}, linesOf: listText }),
        ),
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

function listText({ policies }: Output<'listPolicies'>): Line[] {
  return tableOf(policies, {
    POLICY: ({ name }) => name,
    MODE: modeCell,
    LIMITS: ({ limits, plans = [] }) => {
      const ofPlans = plans.map((each) => `plan ${each.plan}: ${each.limits.join('; ')}`);
      return [...limits, ...ofPlans].join('; ');
    },
  });
}

type Policy = Output<'listPolicies'>['policies'][number];

function modeCell({ mode, mode_of_file: ofFile }: Policy): Cell {
  if (mode === ofFile) return mode === 'enforce' ? mode : toned(mode);
  return [toned(mode), { text: ` (${ofFile} in the file)`, tone: 'aside' }];
}

async function setMode(policy: string, mode: PolicyMode, flags: OverrideFlags): Promise<void> {
  const made = await changeGateway(flags, 'setMode', { policy, mode, ...overrideTerms(flags) });
  say(overrideText(made, Date.now()));
}

async function restore(policy: string, flags: ChangeFlags): Promise<void> {
  await changeGateway(flags, 'restoreMode', { policy, by: operatorName(flags) });
  say(restoredText(policy));
}
