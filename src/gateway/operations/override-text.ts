/** Words for an override of a client, in force or ended. */
import { clientText } from './listed-fields.ts';
import type { ClientOverride, EndedReport } from './schemas/overrides.ts';
import { momentText } from './time-text.ts';

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
