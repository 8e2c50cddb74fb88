/** The key `headgate` beside `rate_limit`: how a limit is counted. envoyproxy/ratelimit refuses files that have it. */
import { hint } from '../../config/closest-word.ts';
import { ALGORITHMS, MAX_LIMIT, MAX_WINDOW_MS } from '../../core/counting/store.ts';
import { POLICY_MODES } from '../../core/policy.ts';
import { OWN_KEY } from './keys.ts';
import type { OwnTerms, Rate } from './rule.ts';
import { needsFixedWindow, UNIT_MS } from './units.ts';
import type { MapReader } from './values.ts';

const TERM_KEYS = ['algorithm', 'burst', 'mode', 'on_store_failure'] as const;
/** The only algorithm without bounds on limits and windows. */
const FIXED_WINDOW: string = 'fixed-window';
const FAILURE_MODES = ['allow', 'deny', 'local'] as const;

/** `rate` is that of the limit, if there is one. */
export function ownTerms(descriptor: MapReader, rate: Rate | undefined): OwnTerms {
  const terms = descriptor.map(OWN_KEY);
  if (terms === undefined) return {};
  terms.expectKeys(TERM_KEYS);
  const own: OwnTerms = {
    algorithm: oneOf(terms, 'algorithm', ALGORITHMS),
    burst: terms.wholeNumber('burst', 1, MAX_LIMIT),
    mode: oneOf(terms, 'mode', POLICY_MODES),
    onStoreFailure: oneOf(terms, 'on_store_failure', FAILURE_MODES),
  };
  checkAlgorithm(terms, own, rate);
  return own;
}

function checkAlgorithm(terms: MapReader, own: OwnTerms, rate: Rate | undefined): void {
  const { algorithm, burst } = own;
  if (burst !== undefined && algorithm !== 'token-bucket' && !isMistaken(terms, algorithm)) {
    const message = 'has no effect, add "algorithm: token-bucket" or remove it';
    terms.findings.add('burst-without-bucket', [...terms.path, 'burst'], message);
  }
  if (rate === undefined) return;
  if (algorithm !== undefined && algorithm !== FIXED_WINDOW && needsFixedWindow(rate)) {
    const message = `counts at most ${MAX_LIMIT} in at most 31d, write "fixed-window" or remove it`;
    terms.refuse('algorithm', message);
  } else if (algorithm === 'token-bucket') {
    const fillMs = ((burst ?? rate.requestsPerUnit) * UNIT_MS[rate.unit]) / rate.requestsPerUnit;
    if (fillMs <= MAX_WINDOW_MS) return;
    const key = burst === undefined ? 'algorithm' : 'burst';
    const message = 'is a bucket that takes longer than 31d to fill at this rate';
    terms.findings.add('bucket-too-slow', [...terms.path, key], message);
  }
}

/** Whether there is an algorithm, and it is not known. */
function isMistaken(terms: MapReader, algorithm: string | undefined): boolean {
  return algorithm === undefined && terms.has('algorithm');
}

function oneOf<const T extends readonly string[]>(terms: MapReader, key: string, words: T) {
  const text = terms.text(key);
  const known: T[number] | undefined = words.find((word) => word === text);
  if (text !== '' && known === undefined) {
    const choice = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
    terms.refuse(key, `must be ${choice}${hint(text, words)}`);
  }
  return known;
}
