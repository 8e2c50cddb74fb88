/** The log: another level for a time, and lines of some requests that are allowed. */
import type { LogLevel } from '../config/settings/settings.ts';
import { audited, putInForce } from './audit.ts';
import { OperationError } from './operation-error.ts';
import { ABOUT_LOG, type Override } from './override.ts';
import type { OverrideReport } from './override-report.ts';
import type { Gateway } from './running-gateway.ts';
import { termsOf, type WrittenTerms } from './terms.ts';

interface LogOverride extends WrittenTerms {
  readonly level?: LogLevel | undefined;
  readonly allows_one_in?: number | undefined;
}

export function logOperations(gateway: Gateway) {
  const { overrides, now } = gateway;
  return {
    async set({ level, allows_one_in: oneIn, ...terms }: LogOverride) {
      const held = termsOf(terms, now());
      const made: OverrideReport[] = [];
      if (level !== undefined) {
        const override: Override = { about: 'log_level', level, ...held };
        made.push(await putInForce(gateway, override, { action: 'log', change: `level ${level}` }));
      }
      if (oneIn !== undefined) {
        const change = `one in ${oneIn} allowed requests`;
        const override: Override = { about: 'log_allows', oneIn, ...held };
        made.push(await putInForce(gateway, override, { action: 'log', change }));
      }
      if (made.length > 0) return { overrides: made };
      throw new OperationError('invalid', 'say what is to change: level, allows_one_in or both');
    },
    async restore({ by = 'unknown' }: { by?: string | undefined }) {
      await audited(gateway, { action: 'log', change: 'as at the start', by }, async () => {
        const lifted: boolean[] = [];
        for (const about of ABOUT_LOG) lifted.push(await overrides.remove(about));
        if (lifted.includes(true)) return;
        throw new OperationError('not_found', 'no override is about the log');
      });
      return {};
    },
  };
}
