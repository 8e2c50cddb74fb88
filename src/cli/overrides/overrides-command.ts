/** `headgate overrides`: list the temporary changes that operators made. */
import type { Command } from 'commander';
import type { Output } from '../../gateway/operations/operation-table.ts';
import { tableOf, toned, untilCell } from '../ops-client/cells.ts';
import { effectText, subjectText } from '../ops-client/change-text.ts';
import { type GatewayFlags, printAnswer } from '../ops-client/gateway-client.ts';
import { gatewayCommand } from '../ops-client/gateway-options.ts';
import { type Line, type OutputFlags, withOutput } from '../output/output.ts';

export function overridesCommand(): Command {
  return withOutput(gatewayCommand('overrides'))
    .description(
      'list temporary changes made by operators: blocks, exemptions, policy modes and log settings; the next to end first',
    )
    .action((flags: GatewayFlags & OutputFlags) =>
      printAnswer(flags, 'listOverrides', { input: {}, linesOf: listText }),
    );
}

function listText({ overrides }: Output<'listOverrides'>, nowMs: number): Line[] {
  if (overrides.length === 0) return ['no override is in force'];
  return tableOf(overrides, {
    SUBJECT: subjectText,
    OVERRIDE: (each) => toned(effectText(each)),
    'UNTIL (UTC)': ({ until }) => untilCell(until, nowMs),
    BY: ({ by }) => by,
    REASON: ({ reason }) => reason,
  });
}
