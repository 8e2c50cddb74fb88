/** Turns an override into what operators see of it. */
import { isoTime } from '../denials/iso-time.ts';
import type { Override } from './override.ts';
import type { OverrideReport } from './schemas/overrides.ts';

export function overrideReport(override: Override): OverrideReport {
  const { sinceMs, untilMs, reason, by } = override;
  const terms = { since: isoTime(sinceMs), until: isoTime(untilMs), reason, by };
  switch (override.about) {
    case 'client':
      return { about: 'client', client: override.client, access: override.access, ...terms };
    case 'policy':
      return { about: 'policy', policy: override.policy, mode: override.mode, ...terms };
    case 'log_level':
      return { about: 'log_level', level: override.level, ...terms };
    case 'log_allows':
      return { about: 'log_allows', allows_one_in: override.oneIn, ...terms };
  }
}
