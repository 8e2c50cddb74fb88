/** About limits that charge afterwards. */
import { error, note, warning } from './rule-text.ts';

export const CHARGING_RULES = {
  'unknown-without-effect': error(
    'A limit has an `unknown`, and reserves nothing, or as much or more for every request.',
    'Raise it, or remove it.',
  ),
  'reserve-not-verified': error(
    'A limit reserves what a header says, and clients may set this header.',
    'Let the proxy set the header, and list it in `identity.verified_headers`.',
  ),
  'rejected-and-settled': error(
    'A limit has `count_rejected` and charges afterwards. Denied requests have no outcome.',
    'Remove `count_rejected`, or `reserve` and `refund`.',
  ),
  'log-charges-afterwards': error(
    'A `sliding-window-log` has a `unit`, or refunds with a `cost` above 1 or a limit above 10,000.',
    'Add `algorithm: sliding-window-counter`.',
  ),
  'reserve-without-unknown': warning(
    'A limit reserves a fixed number and has no `unknown`, so a response that is cut off costs only what was reserved, even if it took more.',
    'Add `unknown` with the units of the largest response.',
  ),
  'refunds-without-bound': warning(
    'Every limit of a policy refunds, so nothing limits requests that are refunded.',
    'Add a limit without `refund`, with another window.',
  ),
  'refund-of-failures': note(
    'A limit refunds by a status or a redirect that failures have, too: many applications answer a wrong password with 200 or a redirect, others with 401.',
    'Send wrong passwords until the limit is used up: the next one must get 429. Otherwise refund by a header that the application sets.',
  ),
} as const;
