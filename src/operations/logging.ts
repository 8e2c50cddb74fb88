/** The log: another level for a time, and lines of some requests that are allowed. */
import type { LogLevel } from '../config/settings.ts';
import { audited } from './audit.ts';
import type { Gateway } from './gateway.ts';
import { lift } from './lift.ts';
import { OperationError } from './operation-error.ts';
import { ABOUT_LOG, type Override } from './override.ts';
import { overrideReport } from './override-report.ts';
import { termsOf, type WrittenTerms } from './terms.ts';

interface LogOverride extends WrittenTerms {
  readonly level?: LogLevel | undefined;
  readonly allows_one_in?: number | undefined;
}

export function logOperations(gateway: Gateway) {
  const { overrides, now } = gateway;
  return {
    async set({ level, allows_one_in: allowsOneIn, ...terms }: LogOverride) {
      if (level === undefined && allowsOneIn === undefined) {
        throw new OperationError('invalid', 'say what is to change: level, allows_one_in or both');
      }
      const override: Override = { about: 'log', level, allowsOneIn, ...termsOf(terms, now()) };
      const report = overrideReport(override);
      const { until, reason, by } = report;
      const change = { action: 'log', change: inWords(override), until, reason, by };
      await audited(gateway, change, () => overrides.write(override));
      return report;
    },
    async restore({ by = 'unknown' }: { by?: string | undefined }) {
      const change = { action: 'log', change: 'as at the start', by };
      await audited(gateway, change, () => lift(gateway, ABOUT_LOG, 'log'));
      return {};
    },
  };
}

function inWords({ level, allowsOneIn }: Extract<Override, { about: 'log' }>): string {
  return [level && `level ${level}`, allowsOneIn && `one in ${allowsOneIn} allowed requests`]
    .filter((part) => part !== undefined)
    .join(', ');
}
