/** `headgate overrides`: what operators decided for a time. */
import type { Command } from 'commander';
import type { OverrideReport } from '../../operations/override-report.ts';
import { askGateway, type GatewayFlags, gatewayCommand } from './gateway-client.ts';
import { columns, type OutputFlags, print, shortTime, withOutput } from './output.ts';

export function overridesCommand(): Command {
  return withOutput(gatewayCommand('overrides'))
    .description(
      'what operators decided for a time: blocks, exemptions, modes, the log; the first to end first',
    )
    .action(list);
}

async function list({ output, ...flags }: GatewayFlags & OutputFlags): Promise<void> {
  const found = await askGateway<{ overrides: OverrideReport[] }>(flags, { path: '/v1/overrides' });
  print(output, found, () => textOf(found.overrides));
}

function textOf(overrides: readonly OverrideReport[]): string[] {
  if (overrides.length === 0) return ['no override is in force'];
  const rows = overrides.map((override) => [
    subjectOf(override),
    wordsOf(override),
    shortTime(override.until),
    override.by,
    override.reason,
  ]);
  return columns([['WHO OR WHAT', 'IS', 'UNTIL (UTC)', 'BY', 'BECAUSE'], ...rows]);
}

/** `login: shadow until 2026-11-22 01:00:00 UTC, "a bad release"` */
export function overrideText(override: OverrideReport): string {
  const { until, reason } = override;
  return `${subjectOf(override)}: ${wordsOf(override)} until ${shortTime(until)} UTC, ${JSON.stringify(reason)}`;
}

function subjectOf(override: OverrideReport): string {
  if (override.about === 'client') return override.client;
  return override.about === 'policy' ? override.policy : 'log';
}

function wordsOf(override: OverrideReport): string {
  if (override.about === 'client') return override.access;
  if (override.about === 'policy') return override.mode;
  if (override.about === 'log_level') return `level ${override.level}`;
  return `1 in ${override.allows_one_in} allowed`;
}
