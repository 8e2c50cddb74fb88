/** For tests of a check that look at its decisions alone. */
import type { CheckEvents } from '../../src/core/check.ts';

export const NO_EVENTS: CheckEvents = {
  identified: () => {},
  untrustedProxy: () => {},
  headersIgnored: () => {},
  policyUnknown: () => {},
  unmatched: () => {},
  wouldDeny: () => {},
};
