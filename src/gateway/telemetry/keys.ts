/** API keys that Redis keeps: how they are looked up, and whether their changes arrive. No label says whose key it is. */
import type { StoreError } from '../core/counting/store.ts';
import { causeText } from './cause-text.ts';
import type { TelemetryContext } from './context.ts';
import { CAUSE, type LogLines, ONE_A_MINUTE, RUN_CHECK } from './log/log-line.ts';
import type { MetricRows } from './metrics.ts';

const runbook = 'HeadgateKeysNotCurrent';
/** Hexadecimal, as much as `headgate keys list` shows. */
const SHA256_DIGITS = 12;

export const KEY_LINES = {
  key_lookups_failed: {
    level: 'error',
    message:
      'API keys could not be looked up in Redis: those that this gateway does not know count as unlisted',
    fields: { reason: 'as in `store_failed`; `timeout` if Redis answered too late', cause: CAUSE },
    meaning: `Redis is down or slow, or its account may not read keys: ${RUN_CHECK}. Keys that the gateway knows keep their plans.`,
    runbook,
    atMost: ONE_A_MINUTE,
  },
  key_changes_unread: {
    level: 'error',
    message:
      'changes of API keys cannot be read from Redis: until they can, keys that this gateway knows stay as they were',
    fields: { cause: CAUSE },
    meaning: `A key that was revoked may still work. Redis is down, or its account may not read the changes: ${RUN_CHECK}. Not logged while the store is degraded.`,
    runbook,
    atMost: ONE_A_MINUTE,
  },
  key_changes_missed: {
    level: 'info',
    message: 'changes of API keys were missed: this gateway looks up all keys again',
    fields: {},
    meaning:
      'More keys were changed than Redis keeps changes of, or it lost them. Look-ups are more frequent for a while.',
    atMost: ONE_A_MINUTE,
  },
  keys_invented: {
    level: 'warn',
    message:
      'an address invents API keys: those that this gateway does not know count as unlisted there, without a look-up',
    fields: { client: 'a pseudonym of the address, as in `denied`' },
    meaning:
      'Its limits apply, so nothing has to be done; `headgate clients block` denies all of its requests. Ended and revoked keys count as invented.',
    atMost: ONE_A_MINUTE,
  },
  key_unreadable: {
    level: 'error',
    message: 'Redis has a record of an API key that no gateway wrote: the key counts as unlisted',
    fields: { sha256: `the first ${SHA256_DIGITS} hexadecimal digits of the SHA-256 of the key` },
    meaning:
      'Another program has written it, or a newer version of headgate. `headgate keys import` of the same key replaces the record.',
    atMost: ONE_A_MINUTE,
  },
} as const satisfies LogLines;

const KEY_METRICS = {
  headgate_key_lookups_total: {
    help: 'API keys that the gateway did not know, by what looking them up in Redis came to: found, unknown, late, failed, or invented (not looked up, because their address has invented too many).',
    labels: ['result'],
  },
  headgate_key_changes_unread: {
    help: '1 while changes of API keys cannot be read from Redis, so that they do not take effect, else 0.',
    aggregator: 'max',
  },
  headgate_key_changes_missed_total: {
    help: 'How often the gateway missed changes of API keys, and looked up all of them again.',
  },
  headgate_key_records_unreadable_total: {
    help: 'Records of API keys in Redis that no gateway wrote.',
  },
} as const satisfies MetricRows;

export function createKeyEvents({ linesOf, metricsOf }: TelemetryContext) {
  const write = linesOf(KEY_LINES);
  const metrics = metricsOf(KEY_METRICS);
  const { headgate_key_lookups_total: lookUps, headgate_key_changes_unread: unread } = metrics;
  // A flood of invented keys reports each of them, and looking up a label costs more than counting.
  const late = lookUps.labels('late');
  const invented = lookUps.labels('invented');
  return {
    lookedUp(digests: number, found: number): void {
      if (found > 0) lookUps.inc({ result: 'found' }, found);
      if (found < digests) lookUps.inc({ result: 'unknown' }, digests - found);
    },
    lookUpsLate(digests: number): void {
      late.inc(digests);
      write('key_lookups_failed', { reason: 'timeout', cause: causeText(undefined) });
    },
    lookUpsFailed(error: StoreError, digests: number): void {
      lookUps.inc({ result: 'failed' }, digests);
      write('key_lookups_failed', { reason: error.reason, cause: causeText(error.cause) });
    },
    tooManyInvented(client: string): void {
      invented.inc();
      write('keys_invented', { client });
    },
    /** `digest`: in base64url. The log says as much of it as it takes to find the record. */
    recordUnreadable(digest: string): void {
      metrics.headgate_key_records_unreadable_total.inc();
      const sha256 = Buffer.from(digest, 'base64url').toString('hex').slice(0, SHA256_DIGITS);
      write('key_unreadable', { sha256 });
    },
    changesMissed(): void {
      metrics.headgate_key_changes_missed_total.inc();
      write('key_changes_missed', {});
    },
    /** `isOutage`: it is known that the store does not answer. */
    changesUnread(error: unknown, isOutage: boolean): void {
      unread.set(1);
      if (!isOutage) write('key_changes_unread', { cause: causeText(error) });
    },
    changesRead: (): void => unread.set(0),
  };
}
