/** What blocked the client of a denial: an operator, or an entry of the policy file. */
import { isInForce } from '../core/access-lists.ts';
import type { DenialReport } from '../denials/denial-report.ts';
import { isoTime } from '../denials/iso-time.ts';
import { blockAt, listedReport } from './listed-report.ts';
import { overridesOf } from './override-report.ts';
import type { Gateway } from './running-gateway.ts';

/** `names`: every partition of the client that an override can name. */
export function blockFields(gateway: Gateway, report: DenialReport, names: readonly string[]) {
  const { overrides, policies, now } = gateway;
  const { listed_at: place, is_listed: isListed } = report;
  const entry = isListed ? blockAt(place, policies.current) : undefined;
  const listed =
    entry && listedReport('block', entry, isInForce(entry, now()) ? undefined : 'it expired');
  const block = overridesOf(names, overrides).find(({ access }) => access === 'blocked');
  const endMs = Math.max(block?.untilMs ?? 0, entry?.expiresMs ?? 0);
  const causes = [
    ...operatorTexts(gateway, report, names),
    ...(place === undefined ? [] : [listed?.what ?? goneText(place)]),
  ];
  return {
    ...(listed && { listed }),
    ...(endMs > 0 && Number.isFinite(endMs) && { until: isoTime(endMs) }),
    cause: causes.join('; ') || 'the gateway that denied the request does not say what blocked it',
  };
}

function goneText(place: string): string {
  return `an entry at ${place} blocked the client; the file has changed since`;
}

function operatorTexts(
  { overrides }: Gateway,
  { blocked_by: by, overridden }: DenialReport,
  names: readonly string[],
): string[] {
  if (by !== 'override') return [];
  const ended = overrides.ended().map(({ override }) => override);
  const made = overridesOf(names, { list: () => [...overrides.list(), ...ended] }).find(
    ({ access, sinceMs }) => access === 'blocked' && isoTime(sinceMs) === overridden,
  );
  return [
    made === undefined
      ? 'an operator blocked the client; that override has ended or was replaced since'
      : `${made.by} blocked the client, ${JSON.stringify(made.reason)}`,
  ];
}
