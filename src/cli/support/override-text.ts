/** Words for an override. */
import type { OverrideReport } from '../../operations/schemas/overrides.ts';
import { shortTime } from './output.ts';

/** `login: shadow until 2026-11-22 01:00:00 UTC, "a bad release"` */
export function overrideText(override: OverrideReport): string {
  const { until, reason } = override;
  return `${subjectText(override)}: ${effectText(override)} until ${shortTime(until)} UTC, ${JSON.stringify(reason)}`;
}

/** What the override changes: a client, a policy or the log. */
export function subjectText(override: OverrideReport): string {
  if (override.about === 'client') return override.client;
  return override.about === 'policy' ? override.policy : 'log';
}

/** What the override changes it to. */
export function effectText(override: OverrideReport): string {
  if (override.about === 'client') return override.access;
  if (override.about === 'policy') return override.mode;
  if (override.about === 'log_level') return `level ${override.level}`;
  return `1 in ${override.allows_one_in} allowed requests`;
}
