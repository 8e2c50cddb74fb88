/** Log lines about the store: whether it counts. */
import { CAUSE, type LogLines, ONE_A_MINUTE } from '../log/log-line.ts';

const runbook = 'HeadgateStoreDegraded';

export const STORE_LINES = {
  store_failed: {
    level: 'error',
    message: 'the store failed: policies follow their on_store_failure',
    fields: {
      reason:
        'what went wrong, in one word, see [failure modes](failure-modes.md#what-headgate-reports)',
      cause: CAUSE,
    },
    runbook,
    atMost: 'one a minute for each `reason`, and one when it begins',
  },
  started_uncounted: {
    level: 'error',
    message:
      'the gateway started, but Redis does not count yet: until it does, policies follow their on_store_failure',
    fields: {
      allow: 'a list of the policies whose requests pass uncounted',
      local: 'a list of the policies that each gateway counts by itself',
      deny: 'a list of the policies whose requests are denied',
    },
    meaning:
      'Redis is down, hangs, takes longer than half a second, or refuses to count: `headgate check --redis` says which. `store_recovered` follows when it counts. Each worker logs this.',
    runbook,
  },
  store_recovered: {
    level: 'info',
    message: 'the store answers: requests are counted again',
    fields: {},
    meaning:
      'Ends `started_uncounted`, `store_failed` and `store_connection_failed`. Logged when no round trip has failed for 5 seconds. Once a minute, a new connection that counts is enough.',
    runbook,
  },
  store_evicted_keys: {
    level: 'warn',
    message:
      'Redis evicted keys: clients whose counters were among them have new limits; give it more memory, and set maxmemory-policy noeviction',
    fields: { keys: 'how many keys it evicted within 10 seconds, also those of other programs' },
    runbook: 'HeadgateStoreMemory',
    atMost: ONE_A_MINUTE,
  },
  store_nearly_full: {
    level: 'warn',
    message: 'the memory of Redis is nearly full: give it more',
    fields: {
      used_percent: 'how much of its `maxmemory` the fullest server uses',
      when_full:
        '`evicts`: it will drop counters, so clients get new limits; `refuses`: policies will follow their `on_store_failure`',
    },
    runbook: 'HeadgateStoreMemory',
    atMost: ONE_A_MINUTE,
  },
  store_connection_failed: {
    level: 'warn',
    message: 'cannot connect to Redis, trying again',
    fields: { cause: CAUSE },
    meaning:
      'No server listens there, or Redis refused the handshake: `headgate check --redis` says which.',
    runbook,
    atMost: ONE_A_MINUTE,
  },
} as const satisfies LogLines;
