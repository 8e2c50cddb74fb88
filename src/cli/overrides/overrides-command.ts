/** `headgate overrides`: list the temporary changes that operators made. */
import type { Command } from 'commander';
import { OPERATIONS } from '../../gateway/operations/operation-table.ts';
import type { OverrideReport } from '../../gateway/operations/schemas/overrides.ts';
import { untilCell } from '../ops-client/denied-until.ts';
import { callGateway, type GatewayFlags } from '../ops-client/gateway-client.ts';
import { gatewayCommand } from '../ops-client/gateway-options.ts';
import { effectText, subjectText, toned } from '../ops-client/override-text.ts';
import { type Line, type OutputFlags, print, withOutput } from '../output/output.ts';
import { table } from '../output/table.ts';

export function overridesCommand(): Command {
  return withOutput(gatewayCommand('overrides'))
    .description(
      'list temporary changes made by operators: blocks, exemptions, policy modes and log settings; the next to end first',
    )
    .action(list);
}

async function list({ output, ...flags }: GatewayFlags & OutputFlags): Promise<void> {
  const answer = await callGateway(flags, OPERATIONS.listOverrides, {});
  print(output, answer.json, () => listText(answer.read().overrides, Date.now()));
}

function listText(overrides: readonly OverrideReport[], nowMs: number): Line[] {
  if (overrides.length === 0) return ['no override is in force'];
  const rows = overrides.map((override) => [
    subjectText(override),
    toned(effectText(override)),
    untilCell(override.until, nowMs),
    override.by,
    override.reason,
  ]);
  return table(['SUBJECT', 'OVERRIDE', 'UNTIL (UTC)', 'BY', 'REASON'], rows);
}
