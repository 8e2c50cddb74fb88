/** The log: another level for a time, and lines of some requests that are allowed. */
import type { LogLevel } from '../config/settings.ts';
import type { Gateway } from './gateway.ts';
import { OperationError } from './operation-error.ts';
import { orderReport } from './order-report.ts';
import { ABOUT_LOG, type Override } from './override.ts';
import { type OrderTerms, termsOf } from './terms.ts';

interface LogOrder extends OrderTerms {
  readonly level?: LogLevel | undefined;
  readonly allows_one_in?: number | undefined;
}

export function logOperations({ overrides, audit, now }: Gateway) {
  return {
    async set({ level, allows_one_in: allowsOneIn, ...terms }: LogOrder) {
      if (level === undefined && allowsOneIn === undefined) {
        throw new OperationError('invalid', 'say what is to change: level, allows_one_in or both');
      }
      const order: Override = { about: 'log', level, allowsOneIn, ...termsOf(terms, now()) };
      await overrides.write(order);
      const report = orderReport(order);
      const { until, reason, by } = report;
      audit({ action: 'log', subject: undefined, order: inWords(order), until, reason, by });
      return report;
    },
    async restore({ by = 'unknown' }: { by?: string | undefined }) {
      if (!(await overrides.remove(ABOUT_LOG))) {
        throw new OperationError('not_found', "no operator's order is about the log");
      }
      const order = 'as at the start';
      audit({ action: 'log', subject: undefined, order, until: undefined, reason: undefined, by });
      return {};
    },
  };
}

function inWords({ level, allowsOneIn }: Extract<Override, { about: 'log' }>): string {
  return [level && `level ${level}`, allowsOneIn && `one in ${allowsOneIn} allowed requests`]
    .filter((part) => part !== undefined)
    .join(', ');
}
