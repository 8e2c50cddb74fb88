/** `headgate stats`: what counting takes up. */
import type { Command } from 'commander';
import type { statsReport } from '../operations/stats.ts';
import { unseenText } from '../telemetry/unseen-header.ts';
import { askGateway, type GatewayFlags, gatewayCommand } from './support/gateway-client.ts';
import { columns, type OutputFlags, print, withOutput } from './support/output.ts';

type Stats = ReturnType<typeof statsReport>;

export function statsCommand(): Command {
  return withOutput(gatewayCommand('stats'))
    .description('windows that are counted, what they take up, and how Redis is')
    .action(run);
}

async function run({ output, ...flags }: GatewayFlags & OutputFlags): Promise<void> {
  const stats = await askGateway<Stats>(flags, { path: '/stats' });
  print(output, stats, () => textOf(stats));
}

function textOf(stats: Stats): string[] {
  const about = stats.is_exact ? '' : 'about ';
  const rows = [
    ['store', stats.store],
    ['gateways', String(stats.gateways)],
    ['active windows', `${about}${stats.active_windows}`],
    ...(stats.memory_bytes === undefined
      ? []
      : [['their memory', `about ${mebibytes(stats.memory_bytes)}`]]),
    ...stats.servers.flatMap((server) => [
      ['redis', server.version],
      [
        '  memory',
        `${mebibytes(server.used_memory_bytes)} of ${most(server.max_memory_bytes)}, ${server.max_memory_policy}`,
      ],
      ['  evicted keys', String(server.evicted_keys)],
      ['  clients', String(server.connected_clients)],
    ]),
    ...stats.unseen_headers.map((doubt) => [
      'doubt',
      `${unseenText(doubt)}: if clients send it, the proxy does not pass it on`,
    ]),
  ];
  return columns(rows);
}

function most(bytes: number): string {
  return bytes === 0 ? 'what there is' : mebibytes(bytes);
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
