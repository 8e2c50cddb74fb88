/** `headgate clients`: who is denied now, and what is to become of one of them. */
import { Command } from 'commander';
import type { DenialReport } from '../denials/denial-report.ts';
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
  readClient,
} from './support/gateway-client.ts';
import { countUpTo } from './support/numbers.ts';
import { columns, type OutputFlags, print, shortTime, withOutput } from './support/output.ts';
import { overrideText } from './support/print-overrides.ts';

const CLIENT =
  'an address, a client of the log (k.Yx3...), id:ID of a listed key, key:KEY, user:USER, or the id of a decision; - reads it from standard input';

interface TopFlags extends GatewayFlags, OutputFlags {
  readonly limit: number;
  readonly shadow?: boolean;
}

interface ResetFlags extends ChangeFlags {
  readonly policy?: string;
  readonly reason?: string;
}

interface Top {
  readonly clients: readonly DenialReport[];
  readonly gateways: { readonly asked: number; readonly answered: number };
}

export function clientsCommand(): Command {
  return new Command('clients')
    .description('who is denied by the running gateways; block, exempt and reset clients')
    .addCommand(
      withOutput(gatewayCommand('top'))
        .description('who was denied in the last five minutes, the most often denied first')
        .option('--limit <count>', 'clients, 100 at most', countUpTo(100), 20)
        .option('--shadow', 'who would be denied by policies in shadow')
        .action(top),
    )
    .addCommand(
      changingCommand('reset')
        .description('forget what was counted of a client')
        .argument('<client>', CLIENT)
        .option('--policy <name>', 'of this policy only')
        .option('--reason <text>', 'why, for the audit log')
        .action(reset),
    )
    .addCommand(
      overridingCommand('block')
        .description('let a client in nowhere, for a time')
        .argument('<client>', CLIENT)
        .action((client: string, flags: OverrideFlags) => override('block', client, flags)),
    )
    .addCommand(
      changingCommand('unblock')
        .description('end the block of a client')
        .argument('<client>', CLIENT)
        .action((client: string, flags: ChangeFlags) => lift('unblock', client, flags)),
    )
    .addCommand(
      overridingCommand('exempt')
        .description('hold a client to no limit, for a time')
        .argument('<client>', CLIENT)
        .action((client: string, flags: OverrideFlags) => override('exempt', client, flags)),
    )
    .addCommand(
      changingCommand('unexempt')
        .description('end the exemption of a client')
        .argument('<client>', CLIENT)
        .action((client: string, flags: ChangeFlags) => lift('unexempt', client, flags)),
    );
}

async function top({ limit, shadow = false, output, ...flags }: TopFlags): Promise<void> {
  const path = `/v1/clients/top?limit=${limit}&shadow=${shadow}`;
  const found = await askGateway<Top>(flags, { path });
  print(output, found, () => topText(found));
}

function topText({ clients, gateways }: Top): string[] {
  const { asked, answered } = gateways;
  const silent =
    answered < asked ? [`${asked - answered} of ${asked} gateways did not answer`] : [];
  if (clients.length === 0) return ['nobody was denied in the last five minutes', ...silent];
  const rows = clients.map((each) => [
    each.client,
    String(each.denials),
    each.limit ?? each.policy,
    each.reason,
    shortTime(each.since),
    shortTime(each.last),
    each.until === undefined ? '' : shortTime(each.until),
    each.decision_id,
  ]);
  const head = ['CLIENT', 'DENIALS', 'LIMIT', 'WHY', 'SINCE (UTC)', 'LAST', 'UNTIL', 'DECISION'];
  return [...columns([head, ...rows]), ...silent];
}

async function override(
  verb: 'block' | 'exempt',
  client: string,
  flags: OverrideFlags,
): Promise<void> {
  const { for: duration, reason, by } = flags;
  const body = { client: readClient(client), for: duration, reason, by: operator(by) };
  const made = await askGateway<OverrideReport>(flags, {
    method: 'POST',
    path: `/v1/clients/${verb}`,
    body,
  });
  print('text', made, () => [overrideText(made)]);
}

async function lift(verb: string, client: string, flags: ChangeFlags): Promise<void> {
  const body = { client: readClient(client), by: operator(flags.by) };
  const call = { method: 'POST', path: `/v1/clients/${verb}`, body } as const;
  const lifted = await askGateway<{ client: string }>(flags, call);
  print('text', lifted, () => [`${lifted.client}: the override is lifted`]);
}

async function reset(client: string, { policy, reason, ...flags }: ResetFlags): Promise<void> {
  const body = {
    client: readClient(client),
    ...(policy !== undefined && { policy }),
    ...(reason !== undefined && { reason }),
    by: operator(flags.by),
  };
  const call = { method: 'POST', path: '/v1/clients/reset', body } as const;
  const done = await askGateway<{ client: string; policies: readonly string[] }>(flags, call);
  print('text', done, () => [
    `${done.client}: nothing is counted any more by ${done.policies.join(', ')}`,
  ]);
}
