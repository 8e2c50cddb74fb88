/** `headgate clients`: list denied clients, show one; reset, block and exempt clients. */
import { Command } from 'commander';
import type { Output } from '../../gateway/operations/operation-table.ts';
import { clientText, shortTime } from '../../gateway/operations/texts.ts';
import { deniedUntilCell, tableOf, toned } from '../ops-client/cells.ts';
import { accessText, liftedText, resetText } from '../ops-client/change-text.ts';
import { inspectionText } from '../ops-client/client-text.ts';
import { changeGateway, type GatewayFlags, printAnswer } from '../ops-client/gateway-client.ts';
import {
  type ChangeFlags,
  changeCommand,
  clientArgument,
  gatewayCommand,
  type OverrideFlags,
  operatorName,
  overrideCommand,
  overrideTerms,
  readClient,
} from '../ops-client/gateway-options.ts';
import { countUpTo } from '../output/numbers.ts';
import { type Line, type OutputFlags, say, withOutput } from '../output/output.ts';

interface TopFlags extends GatewayFlags, OutputFlags {
  readonly limit: number;
  readonly shadow?: boolean;
}

interface ResetFlags extends ChangeFlags {
  readonly reason?: string;
  readonly policy?: string;
}

export function clientsCommand(): Command {
  return new Command('clients')
    .description('list the clients that are denied; show, reset, block and exempt clients')
    .addCommand(
      withOutput(gatewayCommand('top'))
        .description('list the clients denied in the last five minutes, most denials first')
        .option('--limit <count>', 'maximum number of clients, at most 100', countUpTo(100), 20)
        .option('--shadow', 'list the clients that policies in shadow mode would have denied')
        .action(top),
    )
    .addCommand(
      withOutput(gatewayCommand('show'))
        .description(
          'show a client: what blocks or exempts it, its limits and what is left of them, its denials',
        )
        .addArgument(clientArgument())
        .action(show),
    )
    .addCommand(
      withReason(
        changeCommand('reset')
          .description("reset a client's counters")
          .option('--policy <name>', 'reset only the counters of this policy'),
      ).action(reset),
    )
    .addCommand(overrideSubcommand('block', 'block a client temporarily'))
    .addCommand(liftSubcommand('unblock', 'unblock a client that an operator blocked'))
    .addCommand(overrideSubcommand('exempt', 'exempt a client from all limits temporarily'))
    .addCommand(liftSubcommand('unexempt', 'end the exemption of a client'));
}

function withReason(command: Command): Command {
  return command
    .addArgument(clientArgument())
    .option('--reason <text>', 'reason, for the audit log');
}

function overrideSubcommand(name: 'block' | 'exempt', description: string): Command {
  return overrideCommand(name)
    .description(description)
    .addArgument(clientArgument())
    .action(async (client: string, flags: OverrideFlags) => {
      const input = { client: readClient(client), ...overrideTerms(flags) };
      say(accessText(await changeGateway(flags, name, input), Date.now()));
    });
}

function liftSubcommand(name: 'unblock' | 'unexempt', description: string): Command {
  return withReason(changeCommand(name))
    .description(description)
    .action(async (client: string, { reason, ...flags }: Omit<ResetFlags, 'policy'>) => {
      const input = { client: readClient(client), reason, by: operatorName(flags) };
      const lifted = await changeGateway(flags, name, input);
      say(liftedText(clientText(lifted), lifted, Date.now()));
    });
}

async function top({ limit, shadow = false, ...flags }: TopFlags): Promise<void> {
  await printAnswer(flags, 'top', { input: { limit, shadow }, linesOf: topText });
}

function topText({ clients, gateways }: Output<'top'>, nowMs: number): Line[] {
  const { asked, answered } = gateways;
  const warning = `${asked - answered} of ${asked} gateways did not answer`;
  const silent: Line[] = answered < asked ? [{ spans: [{ text: warning, tone: 'warning' }] }] : [];
  if (clients.length === 0) return ['no client was denied in the last five minutes', ...silent];
  const lines = tableOf(clients, {
    CLIENT: clientText,
    DENIALS: ({ denials }) => String(denials),
    LIMIT: ({ limit, policy }) => limit ?? policy,
    REASON: ({ reason }) => toned(reason),
    'SINCE (UTC)': ({ since }) => shortTime(since),
    LAST: ({ last }) => shortTime(last),
    UNTIL: (each) => deniedUntilCell(each, nowMs),
    DECISION: ({ decision_id: id }) => id,
  });
  return [...lines, ...silent];
}

async function show(name: string, flags: GatewayFlags & OutputFlags): Promise<void> {
  await printAnswer(flags, 'inspect', {
    input: { client: readClient(name) },
    linesOf: inspectionText,
    isFault: ({ limits_unavailable: why }) => why !== undefined,
  });
}

async function reset(client: string, { policy, reason, ...flags }: ResetFlags): Promise<void> {
  const input = { client: readClient(client), policy, reason, by: operatorName(flags) };
  const done = await changeGateway(flags, 'reset', input);
  say(resetText(clientText(done), done));
}
