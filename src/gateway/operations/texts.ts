/** Words that the answers of gateways share with the commands: moments, rates, clients and overrides. */
import type { ClientOverride, EndedReport } from './schemas/overrides.ts';

/** `2026-11-22 00:53:32`, in UTC. */
export function shortTime(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}

/** `2026-11-22 00:53:32 UTC, in 42 min` */
export function momentText(iso: string, nowMs: number): string {
  return `${shortTime(iso)} UTC, ${relativeTime(iso, nowMs)}`;
}

/** `in 42 min`, `3 h ago` or `now` */
export function relativeTime(iso: string, nowMs: number): string {
  const seconds = Math.round((Date.parse(iso) - nowMs) / 1_000);
  if (seconds === 0) return 'now';
  const length = durationText(Math.abs(seconds));
  return seconds > 0 ? `in ${length}` : `${length} ago`;
}

/** `42 min`: in the largest unit of which there are at least two. */
export function durationText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(seconds / 3_600);
  return hours < 48 ? `${hours} h` : `${Math.round(seconds / 86_400)} d`;
}

/** `02:14 UTC`; the day too if it is not that of the present moment. Both are ISO 8601 in UTC. */
export function clockText(iso: string, nowIso: string): string {
  const isToday = iso.slice(0, 10) === nowIso.slice(0, 10);
  return `${isToday ? iso.slice(11, 16) : shortTime(iso).slice(0, 16)} UTC`;
}

/** `0`, `0.4`, `12`, `3,400` */
export function rateText(perSecond: number): string {
  if (perSecond === 0) return '0';
  if (perSecond >= 9.95) return Math.round(perSecond).toLocaleString('en');
  return perSecond < 0.05 ? '<0.1' : perSecond.toFixed(1);
}

/** `3.1 %`. Never 100 % or 0 % if that is not exact. */
export function shareText(part: number, whole: number): string {
  if (part === 0 || whole === 0) return '0 %';
  const percent = (part / whole) * 100;
  if (percent < 0.1) return '<0.1 %';
  return `${percent === 100 ? 100 : Math.min(percent, 99.9).toFixed(1)} %`;
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `3 gateways`, `4 workers`, `5 gateways (4 workers among them)`, `1 of 2 gateways`. Every process that answers is a gateway. */
export function gatewaysText({
  asked,
  answered,
  workers,
}: Readonly<Record<'asked' | 'answered' | 'workers', number>>): string {
  if (answered < asked) return `${answered} of ${plural(asked, 'gateway')}`;
  if (workers === answered) return plural(answered, 'worker');
  const some = workers === 0 ? '' : ` (${plural(workers, 'worker')} among them)`;
  return `${plural(answered, 'gateway')}${some}`;
}

/** `a; and 2 more` */
export function firstText([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first}; and ${others.length} more`;
}

/** `a, b and c`; of many, the first ones. */
export function listText(names: readonly string[], most = 5): string {
  const shown = names.length > most ? names.slice(0, most - 1) : names;
  const more = names.length - shown.length;
  const all = more > 0 ? [...shown, `${more} more`] : shown;
  return [all.slice(0, -1).join(', '), all.at(-1)].filter(Boolean).join(' and ');
}

export interface ListedFields {
  readonly client_id?: string | undefined;
  readonly plan?: string | undefined;
  readonly is_plan_unknown?: true | undefined;
}

/** `id:acme (plan pro)` for a listed key, as commands take it; the partition of any other client. */
export function clientText({
  client,
  ...fields
}: ListedFields & { readonly client: string }): string {
  const { client_id: id, plan, is_plan_unknown: isUnknown } = fields;
  if (id === undefined) return client;
  const where = isUnknown ? ', which no policy has' : '';
  return plan === undefined ? `id:${id}` : `id:${id} (plan ${plan}${where})`;
}

/** `id:acme: blocked until 2026-11-22 01:00:00 UTC, in 42 min, by ada, "hammers"` */
export function inForceText(override: ClientOverride, nowMs: number): string {
  const { access, until, by, reason } = override;
  return `${clientText(override)}: ${access} until ${momentText(until, nowMs)}, by ${by}, ${JSON.stringify(reason)}`;
}

/** `id:acme: blocked by ada, "hammers"; unblocked at 2026-11-22 01:00:00 UTC, 5 min ago, by bob` */
export function endedText(
  { override, ended_at: at, ended_by: by }: EndedReport,
  nowMs: number,
): string {
  const { access, reason } = override;
  const made = `${clientText(override)}: ${access} by ${override.by}, ${JSON.stringify(reason)}`;
  const end =
    by === undefined ? 'expired' : access === 'blocked' ? 'unblocked' : 'no longer exempt';
  return `${made}; ${end} at ${momentText(at, nowMs)}${by === undefined ? '' : `, by ${by}`}`;
}
