/** Explains a recent denial, which a running gateway remembers. */
import type { Output } from '../../gateway/operations/operation-table.ts';
import {
  clientText,
  endedText,
  inForceText,
  momentText,
  shortTime,
} from '../../gateway/operations/texts.ts';
import { columns } from '../output/table.ts';
import { UNLISTED } from './client-text.ts';

export function denialText(denial: Output<'decision'>, nowMs: number): string[] {
  const { policy, reason, mode, limit, allows, key, cause, now, later } = denial;
  // A gateway of an older version names only one override.
  const { override, overrides = override ? [override] : [], ended_override: ended } = denial;
  return columns([
    ['decision', denial.asked_for],
    ['client', identityText(denial)],
    ['policy', `${policy}: ${reason}, ${mode}`],
    ...(limit === undefined ? [] : [['limit', `${limit}: ${allows}; counted as ${key}`]]),
    ...(cause === undefined ? [] : [['cause', cause]]),
    ['denied', deniedText(denial, nowMs)],
    ...(now === undefined ? [] : [['now', quotaText(now, denial)]]),
    ...overrides.flatMap((each) =>
      each.about === 'client' ? [['override', inForceText(each, nowMs)]] : [],
    ),
    ...(ended === undefined ? [] : [['override', endedText(ended, nowMs)]]),
    ...(later === undefined ? [] : [['later', laterText(later)]]),
  ]);
}

function identityText(denial: Output<'decision'>): string {
  const { client, client_id: id, identity, came_as: key, counted } = denial;
  return [
    ...(id === undefined ? [] : [clientText(denial)]),
    `${client}, identified by ${identity}`,
    ...(key === undefined ? [] : [`sent the unlisted key ${key}`]),
    ...(client.startsWith('k.') ? [`an unlisted API key (${UNLISTED})`] : []),
    ...(counted === undefined || counted === client ? [] : [`counted as ${counted}`]),
  ].join(', ');
}

function deniedText(denial: Output<'decision'>, nowMs: number): string {
  const { denials, until, now, limit, reason } = denial;
  const [since, last] = [shortTime(denial.since), shortTime(denial.last)];
  const times =
    denials === 1
      ? `1 time, at ${last} UTC`
      : `${denials} times since ${since} UTC, last at ${last} UTC as ${denial.decision_id}`;
  if (denial.is_reset) return `${times}; an operator reset its counters since`;
  // The limit may have been raised since.
  if (now?.retry_after_ms === 0) return times;
  if (until === undefined) return limit === undefined ? times : `${times}; never allowed`;
  // The next line says how long that is, by what is counted now.
  const moment = now === undefined ? momentText(until, nowMs) : `${shortTime(until)} UTC`;
  return `${times}; ${reason === 'blocked' ? 'blocked' : 'denied'} until ${moment}`;
}

function laterText(later: NonNullable<Output<'decision'>['later']>): string {
  const { denials, last, decision_id: id } = later;
  const times = denials === 1 ? '1 more denial' : `${denials} more denials`;
  return `${times} of this client by this policy, the last at ${shortTime(last)} UTC as ${id}; their cause may differ`;
}

function quotaText(
  now: NonNullable<Output<'decision'>['now']>,
  { allows, policy_mode: mode }: Output<'decision'>,
): string {
  const { remaining, retry_after_ms: waitMs } = now;
  return [
    ...(mode === undefined || mode === 'enforce' ? [] : [`policy mode: ${mode}`]),
    ...(now.allows === allows ? [] : [`limit: ${now.allows}`]),
    `remaining: ${remaining}`,
    ...(waitMs === undefined ? ['no request is ever allowed'] : []),
    ...(waitMs ? [`next request allowed in ${Math.ceil(waitMs / 1000)} s`] : []),
  ].join('; ');
}
