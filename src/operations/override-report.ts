/** What is told of an override. */
import type { Override } from './override.ts';

export type OverrideReport = {
  readonly since: string;
  readonly until: string;
  readonly reason: string;
  readonly by: string;
} & (
  | { readonly about: 'client'; readonly client: string; readonly access: string }
  | { readonly about: 'policy'; readonly policy: string; readonly mode: string }
  | { readonly about: 'log'; readonly level?: string; readonly allows_one_in?: number }
);

export function overrideReport(override: Override): OverrideReport {
  const { sinceMs, untilMs, reason, by } = override;
  const terms = { since: iso(sinceMs), until: iso(untilMs), reason, by };
  if (override.about === 'client') {
    return { about: 'client', client: override.client, access: override.access, ...terms };
  }
  if (override.about === 'policy') {
    return { about: 'policy', policy: override.policy, mode: override.mode, ...terms };
  }
  const { level, allowsOneIn } = override;
  return {
    about: 'log',
    ...(level !== undefined && { level }),
    ...(allowsOneIn !== undefined && { allows_one_in: allowsOneIn }),
    ...terms,
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
