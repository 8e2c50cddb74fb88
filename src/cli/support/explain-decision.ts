/** Explains a recent denial, as running gateways remember it. */
import type { DenialReport, StandingNow } from '../../denials/denial-report.ts';
import type { OverrideReport } from '../../operations/override-report.ts';
import { askGateway, type GatewayFlags } from './gateway-client.ts';
import { columns, type OutputFlags, print, shortTime } from './output.ts';
import { overrideText } from './print-overrides.ts';

type Decision = DenialReport & {
  readonly asked_for: string;
  readonly now?: StandingNow;
  readonly policy_mode?: string;
  readonly override?: OverrideReport;
};

export async function explainDecision(
  id: string,
  flags: GatewayFlags & OutputFlags,
): Promise<void> {
  const path = `/v1/decisions/${encodeURIComponent(id)}`;
  const decision = await askGateway<Decision>(flags, { path });
  print(flags.output, decision, () => columns(linesOf(decision)));
}

function linesOf(decision: Decision): string[][] {
  const { limit, until, now, override } = decision;
  const lines = [
    ['decision', decision.asked_for],
    ['client', clientText(decision)],
    ['policy', `${decision.policy}: ${decision.reason}, ${decision.mode}`],
  ];
  if (limit !== undefined) {
    lines.push(['limit', `${limit}: ${decision.allows}; counted as ${decision.key}`]);
  }
  lines.push(['denied', deniedText(decision)]);
  if (until !== undefined) lines.push(['until', `${shortTime(until)} UTC, as of the last denial`]);
  if (now !== undefined) lines.push(['now', currentText(now, decision)]);
  if (override !== undefined) lines.push(['override', overrideText(override)]);
  else if (decision.reason === 'blocked') {
    lines.push(['because', 'the policy file blocks the client, or an override did that has ended']);
  }
  return lines;
}

function clientText({ client, identity, came_as: claimed, counted }: Decision): string {
  const lastKey = claimed === undefined ? '' : `, last sent the key ${claimed}`;
  const countedAs = counted === undefined || counted === client ? '' : `, counted as ${counted}`;
  return `${client}, identified by ${identity}${lastKey}${countedAs}`;
}

function deniedText({ denials, since, last, decision_id: lastId }: Decision): string {
  return denials === 1
    ? `1 time, at ${shortTime(since)} UTC`
    : `${denials} times since ${shortTime(since)}, last at ${shortTime(last)} UTC as ${lastId}`;
}

function currentText(now: StandingNow, { allows, policy_mode: mode }: Decision): string {
  const waitMs = now.retry_after_ms;
  const changes = [
    ...(mode === undefined || mode === 'enforce' ? [] : [`the policy is in mode ${mode} now`]),
    ...(now.allows === allows ? [] : [`the limit is ${now.allows} now`]),
    `remaining: ${now.remaining}`,
    ...(waitMs === 0 ? [] : [`next request allowed in ${Math.ceil(waitMs / 1000)} s`]),
  ];
  return changes.join('; ');
}
