/** The log: another level for a time, and lines of some requests that are allowed. */
import type { LogLevel } from '../config/settings.ts';
import { audited } from './audit.ts';
import type { Gateway } from './gateway.ts';
import { lift } from './lift.ts';
import { OperationError } from './operation-error.ts';
import { orderReport } from './order-report.ts';
import { ABOUT_LOG, type Override } from './override.ts';
import { type OrderTerms, termsOf } from './terms.ts';

interface LogOrder extends OrderTerms {
  readonly level?: LogLevel | undefined;
  readonly allows_one_in?: number | undefined;
}

export function logOperations(gateway: Gateway) {
  const { overrides, now } = gateway;
  return {
    async set({ level, allows_one_in: allowsOneIn, ...terms }: LogOrder) {
      if (level === undefined && allowsOneIn === undefined) {
        throw new OperationError('invalid', 'say what is to change: level, allows_one_in or both');
      }
      const order: Override = { about: 'log', level, allowsOneIn, ...termsOf(terms, now()) };
      const report = orderReport(order);
      const { until, reason, by } = report;
      const change = { action: 'log', order: inWords(order), until, reason, by };
      await audited(gateway, change, () => overrides.write(order));
      return report;
    },
    async restore({ by = 'unknown' }: { by?: string | undefined }) {
      const change = { action: 'log', order: 'as at the start', by };
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
