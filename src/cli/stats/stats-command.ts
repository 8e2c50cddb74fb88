/** `headgate stats`: active windows, their memory and the state of Redis. */
import type { Command } from 'commander';
import type { Output } from '../../gateway/operations/operation-table.ts';
import { firstText, gatewaysText, plural, shortTime } from '../../gateway/operations/texts.ts';
import { unseenText } from '../../gateway/telemetry/unseen-header.ts';
import { type GatewayFlags, printAnswer } from '../ops-client/gateway-client.ts';
import { gatewayCommand } from '../ops-client/gateway-options.ts';
import { type Line, type OutputFlags, withOutput } from '../output/output.ts';
import { alignedRows, type Cell } from '../output/table.ts';

export function statsCommand(): Command {
  return withOutput(gatewayCommand('stats'))
    .description('show active windows, their memory and the state of Redis')
    .action((flags: GatewayFlags & OutputFlags) =>
      printAnswer(flags, 'stats', {
        input: {},
        linesOf: statsText,
        isFault: ({ unavailable }) => unavailable !== undefined,
      }),
    );
}

function statsText(stats: Output<'stats'>): Line[] {
  const { unavailable, active_windows: windows } = stats;
  const about = stats.is_exact ? '' : 'about ';
  const refused = stats.policy_file_refused;
  const rows: Cell[][] = [['store', stats.store]];
  if (unavailable !== undefined) rows.push(['', { text: unavailable, tone: 'bad' }]);
  rows.push(
    ['running', runningText(stats)],
    ['active windows', windows === undefined ? 'unknown' : `${about}${windows}`],
  );
  if (stats.memory_bytes !== undefined) {
    rows.push(['their memory', `about ${mebibytes(stats.memory_bytes)}`]);
  }
  rows.push(...stats.servers.flatMap(serverRows));
  if (refused !== undefined) {
    const text = `a policy file at ${shortTime(refused.at)} UTC, the one before stays: ${firstText(refused.mistakes)}`;
    rows.push([{ text: 'refused', tone: 'bad' }, text]);
  }
  for (const unseen of stats.unseen_headers) {
    const text = `${unseenText(unseen)}: if clients send it, the proxy does not pass it on`;
    rows.push([{ text: 'doubt', tone: 'warning' }, text]);
  }
  return alignedRows(rows);
}

function serverRows(server: Output<'stats'>['servers'][number]): Cell[][] {
  const { used_memory_bytes: used, max_memory_bytes: max, evicted_keys: evicted } = server;
  const limit = max === 0 ? 'no limit' : `limit ${mebibytes(max)}`;
  return [
    ['redis', server.version],
    ['  memory', `${mebibytes(used)}, ${limit}, ${server.max_memory_policy}`],
    // Counters that Redis evicted are lost.
    ['  evicted keys', evicted === 0 ? '0' : { text: String(evicted), tone: 'bad' }],
    ['  clients', String(server.connected_clients)],
  ];
}

/** While Redis does not answer, gateways cannot reach each other. */
function runningText({ gateways: known, unavailable, ...stats }: Output<'stats'>): string {
  if (unavailable !== undefined) return `${plural(known, 'gateway')}, as last known`;
  const { gateways_answered: answered = known, workers = 0 } = stats;
  return gatewaysText({ asked: Math.max(known, answered), answered, workers });
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
