/** What is told of an override. */
import { isoTime } from '../denials/iso-time.ts';
import type { Override } from './override.ts';

export type OverrideReport = {
  readonly since: string;
  readonly until: string;
  readonly reason: string;
  readonly by: string;
} & (
  | { readonly about: 'client'; readonly client: string; readonly access: string }
  | { readonly about: 'policy'; readonly policy: string; readonly mode: string }
  | { readonly about: 'log_level'; readonly level: string }
  | { readonly about: 'log_allows'; readonly allows_one_in: number }
);

export function overrideReport(override: Override): OverrideReport {
  const { sinceMs, untilMs, reason, by } = override;
  const terms = { since: isoTime(sinceMs), until: isoTime(untilMs), reason, by };
  if (override.about === 'client') {
    return { about: 'client', client: override.client, access: override.access, ...terms };
  }
  if (override.about === 'policy') {
    return { about: 'policy', policy: override.policy, mode: override.mode, ...terms };
  }
  if (override.about === 'log_level') {
    return { about: 'log_level', level: override.level, ...terms };
  }
  return { about: 'log_allows', allows_one_in: override.oneIn, ...terms };
}
