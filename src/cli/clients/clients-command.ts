/** `headgate clients`: list denied clients, show one; reset, block and exempt clients. */

import { Command } from 'commander';
import { OPERATIONS } from '../../gateway/operations/operation-table.ts';
import type { DenialList } from '../../gateway/operations/schemas/denials.ts';
import { clientText, shortTime } from '../../gateway/operations/texts.ts';
import { inspectionText } from '../ops-client/client-text.ts';
import { deniedUntilCell } from '../ops-client/denied-until.ts';
import { callGateway, type GatewayFlags } from '../ops-client/gateway-client.ts';
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
import { accessText, liftedText, toned } from '../ops-client/override-text.ts';
import { resetText } from '../ops-client/reset-text.ts';
import { EXIT_FAULT } from '../output/exit-codes.ts';
import { countUpTo } from '../output/numbers.ts';
import { type Line, type OutputFlags, print, say, withOutput } from '../output/output.ts';
import { table } from '../output/table.ts';

interface TopFlags extends GatewayFlags, OutputFlags {
  readonly limit: number;
  readonly shadow?: boolean;
}

interface LiftFlags extends ChangeFlags {
  readonly reason?: string;
}

interface ResetFlags extends LiftFlags {
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
      changeCommand('reset')
        .description("reset a client's counters")
        .addArgument(clientArgument())
        .option('--policy <name>', 'reset only the counters of this policy')
        .option('--reason <text>', 'reason, for the audit log')
        .action(reset),
    )
    .addCommand(
      overrideCommand('block')
        .description('block a client temporarily')
        .addArgument(clientArgument())
        .action((client: string, flags: OverrideFlags) =>
          override(OPERATIONS.block, client, flags),
        ),
    )
    .addCommand(
      changeCommand('unblock')
        .description('unblock a client that an operator blocked')
        .addArgument(clientArgument())
        .option('--reason <text>', 'reason, for the audit log')
        .action((client: string, flags: LiftFlags) => lift(OPERATIONS.unblock, client, flags)),
    )
    .addCommand(
      overrideCommand('exempt')
        .description('exempt a client from all limits temporarily')
        .addArgument(clientArgument())
        .action((client: string, flags: OverrideFlags) =>
          override(OPERATIONS.exempt, client, flags),
        ),
    )
    .addCommand(
      changeCommand('unexempt')
        .description('end the exemption of a client')
        .addArgument(clientArgument())
        .option('--reason <text>', 'reason, for the audit log')
        .action((client: string, flags: LiftFlags) => lift(OPERATIONS.unexempt, client, flags)),
    );
}

async function top({ limit, shadow = false, output, ...flags }: TopFlags): Promise<void> {
  const answer = await callGateway(flags, OPERATIONS.top, { limit, shadow });
  print(output, answer.json, () => topText(answer.read(), Date.now()));
}

function topText({ clients, gateways }: DenialList, nowMs: number): Line[] {
  const { asked, answered } = gateways;
  const warning = `${asked - answered} of ${asked} gateways did not answer`;
  const silent: Line[] = answered < asked ? [{ spans: [{ text: warning, tone: 'warning' }] }] : [];
  if (clients.length === 0) return ['no client was denied in the last five minutes', ...silent];
  const rows = clients.map((each) => [
    clientText(each),
    String(each.denials),
    each.limit ?? each.policy,
    toned(each.reason),
    shortTime(each.since),
    shortTime(each.last),
    deniedUntilCell(each, nowMs),
    each.decision_id,
  ]);
  const head = ['CLIENT', 'DENIALS', 'LIMIT', 'REASON', 'SINCE (UTC)', 'LAST', 'UNTIL', 'DECISION'];
  return [...table(head, rows), ...silent];
}

async function show(name: string, { output, ...flags }: GatewayFlags & OutputFlags) {
  const answer = await callGateway(flags, OPERATIONS.inspect, { client: readClient(name) });
  const client = answer.read();
  print(output, answer.json, () => inspectionText(client, Date.now()));
  if (client.limits_unavailable !== undefined) process.exitCode = EXIT_FAULT;
}

async function reset(client: string, { policy, reason, ...flags }: ResetFlags): Promise<void> {
  const by = operatorName(flags);
  const input = { client: readClient(client), policy, reason, by };
  const done = (await callGateway(flags, OPERATIONS.reset, input)).read();
  say(resetText(clientText(done), done));
}

async function override(
  operation: typeof OPERATIONS.block,
  client: string,
  flags: OverrideFlags,
): Promise<void> {
  const input = { client: readClient(client), ...overrideTerms(flags) };
  const made = (await callGateway(flags, operation, input)).read();
  say(accessText(made, Date.now()));
}

async function lift(
  operation: typeof OPERATIONS.unblock,
  client: string,
  { reason, ...flags }: LiftFlags,
): Promise<void> {
  const input = { client: readClient(client), reason, by: operatorName(flags) };
  const lifted = (await callGateway(flags, operation, input)).read();
  say(liftedText(clientText(lifted), lifted, Date.now()));
}
