/** Settles the requests of a test as a gateway does, with the real tokens, in virtual time. */
import { readEnvironment } from '../../gateway/config/settings/environment.ts';
import { createSettling, type SettlingOptions } from '../../gateway/settlement/settling.ts';
import { listedKeys } from '../../gateway/settlement/signing-keys.ts';

const KEYS = listedKeys(['the key of headgate policy tests']);
const NOTHING = () => {};

/** Tokens live as long as they do without a setting. */
export function virtualSettling(
  options: Pick<SettlingOptions, 'store' | 'local' | 'policies' | 'now'>,
) {
  return createSettling({
    ...options,
    ...{ keys: KEYS, lifeMs: readEnvironment({}).settleWithinMs, closeWithinMs: 0 },
    events: {
      ...{ reserved: NOTHING, counted: NOTHING, cut: NOTHING, waiting: NOTHING, lost: NOTHING },
      failed(error) {
        throw error;
      },
    },
  });
}
