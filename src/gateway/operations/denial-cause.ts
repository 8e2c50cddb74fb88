/** What blocked the client of a denial: an operator, or an entry of the policy file. */
import { isInForce } from '../core/identity/access-lists.ts';
import type { DenialReport } from '../denials/denial-report.ts';
import { isoTime } from '../denials/iso-time.ts';
import type { Override } from '../stores/overrides/override.ts';
import { blockAt, listedReport } from './listed-report.ts';
import { listedFields, overridesOf } from './override-report.ts';
import type { Gateway } from './running-gateway.ts';
import { clientText } from './texts.ts';

/** `names`: every partition of the client that an override can name. */
export function blockFields(gateway: Gateway, report: DenialReport, names: readonly string[]) {
  const { overrides, policies, now } = gateway;
  const { listed_at: place, is_listed: isListed } = report;
  const entry = isListed ? blockAt(place, policies.current) : undefined;
  const listed =
    entry && listedReport('block', entry, isInForce(entry, now()) ? undefined : 'it expired');
  const blocks = overridesOf(names, overrides).filter(({ access }) => access === 'blocked');
  const made = overridesOf(names, { list: () => overrides.known() }).find(
    ({ access, sinceMs }) => access === 'blocked' && isoTime(sinceMs) === report.overridden,
  );
  const lastMs = Date.parse(report.last);
  const others = blocks.filter(
    (each) =>
      each.sinceMs <= lastMs && (each.client !== made?.client || each.sinceMs !== made.sinceMs),
  );
  // The client is denied until the last of them ends.
  const endMs = Math.max(entry?.expiresMs ?? 0, ...blocks.map(({ untilMs }) => untilMs));
  const causes = [
    ...(report.blocked_by === 'override' ? [operatorText(made)] : []),
    ...(place === undefined ? [] : [listed?.what ?? goneText(report)]),
    ...others.map(
      (each) =>
        `${each.by} also blocks ${clientText({ ...each, ...listedFields(each.client, policies.current.listedClients) })}, ${JSON.stringify(each.reason)}`,
    ),
  ];
  return {
    ...(listed && { listed }),
    ...(endMs > 0 && Number.isFinite(endMs) && { until: isoTime(endMs) }),
    cause: causes.join('; ') || 'the gateway that denied the request does not say what blocked it',
  };
}

function goneText({ listed_at: place, file_now: now }: DenialReport): string {
  const what = `an entry at ${place} blocked the client; the file has changed since`;
  return now === undefined ? what : `${what}: ${now}`;
}

function operatorText(made: Pick<Override, 'by' | 'reason'> | undefined): string {
  return made === undefined
    ? 'an operator blocked the client; that override has ended or was replaced since'
    : `${made.by} blocked the client, ${JSON.stringify(made.reason)}`;
}
