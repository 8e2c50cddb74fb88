/** `headgate policies`: in which mode they are, and another one for a time. */
import { Argument, Command } from 'commander';
import { POLICY_MODES } from '../core/policy.ts';
import type { OverrideReport } from '../operations/override-report.ts';
import {
  askGateway,
  type ChangeFlags,
  changingCommand,
  type GatewayFlags,
  gatewayCommand,
  type OverrideFlags,
  operator,
  overridingCommand,
} from './support/gateway-client.ts';
import { columns, type OutputFlags, print, say, withOutput } from './support/output.ts';
import { overrideText } from './support/print-overrides.ts';

interface Listed {
  readonly name: string;
  readonly mode: string;
  readonly mode_of_file: string;
  readonly limits: readonly string[];
}

export function policiesCommand(): Command {
  return new Command('policies')
    .description('the policies of the running gateways, and the mode that each is in')
    .addCommand(
      withOutput(gatewayCommand('list')).description('all of them, with their limits').action(list),
    )
    .addCommand(
      overridingCommand('mode')
        .description('take a policy to another mode, for a time')
        .argument('<policy>', 'its name')
        .addArgument(new Argument('<mode>', 'what it is to be').choices(POLICY_MODES))
        .action(setMode),
    )
    .addCommand(
      changingCommand('restore')
        .description('give a policy the mode of the file again')
        .argument('<policy>', 'its name')
        .action(restore),
    );
}

async function list({ output, ...flags }: GatewayFlags & OutputFlags): Promise<void> {
  const found = await askGateway<{ policies: Listed[] }>(flags, { path: '/v1/policies' });
  print(output, found, () => textOf(found.policies));
}

function textOf(policies: readonly Listed[]): string[] {
  const rows = policies.map(({ name, mode, mode_of_file: ofFile, limits }) => [
    name,
    mode === ofFile ? mode : `${mode} (${ofFile} in the file)`,
    limits.join('; '),
  ]);
  return columns([['POLICY', 'MODE', 'LIMITS'], ...rows]);
}

async function setMode(policy: string, mode: string, flags: OverrideFlags): Promise<void> {
  const { for: duration, reason, by } = flags;
  const override = await askGateway<OverrideReport>(flags, {
    method: 'PUT',
    path: pathOf(policy),
    body: { mode, for: duration, reason, by: operator(by) },
  });
  print('text', override, () => [overrideText(override)]);
}

async function restore(policy: string, flags: ChangeFlags): Promise<void> {
  const by = encodeURIComponent(operator(flags.by));
  await askGateway(flags, { method: 'DELETE', path: `${pathOf(policy)}?by=${by}` });
  say(`${policy}: is in the mode of the file again`);
}

function pathOf(policy: string): string {
  return `/v1/policies/${encodeURIComponent(policy)}/mode`;
}
