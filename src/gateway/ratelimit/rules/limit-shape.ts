import { hint } from '../../config/closest-word.ts';
import { ALGORITHMS, MAX_LIMIT, MAX_WINDOW_MS } from '../../core/counting/store.ts';
import { POLICY_MODES } from '../../core/policy.ts';
import type { Budget } from './findings.ts';
import { OWN_KEY, RATE_LIMIT_KEYS, REPLACES_KEYS } from './keys.ts';
import {
  needsFixedWindow,
  type OwnTerms,
  type Rate,
  type Rule,
  UNITS,
  unitOf,
  windowMsOf,
} from './rule.ts';
import type { MapReader } from './values.ts';

export type LimitShape = Pick<Rule, 'limitName' | 'rate' | 'replaces' | 'own'>;

const MAX_REQUESTS = 4_294_967_295;
/** A control plane sends this, and 0 requests, for what is not set. */
const UNSET = 'UNKNOWN';
const NO_TERMS: OwnTerms = {};
const NO_NAMES: readonly string[] = [];

/** Undefined if there is no limit, or it has mistakes. */
export function limitShape(descriptor: MapReader, budget: Budget): LimitShape | undefined {
  const limit = descriptor.map('rate_limit');
  if (limit === undefined) {
    // Without a limit the terms have no effect, but must be right.
    if (descriptor.has(OWN_KEY)) ownTerms(descriptor, undefined);
    return undefined;
  }
  limit.expectKeys(RATE_LIMIT_KEYS);
  const name = limit.text('name');
  const rate = limit.flag('unlimited') ? unlimited(limit) : rateOf(limit);
  const own = descriptor.has(OWN_KEY) ? ownTerms(descriptor, rate) : NO_TERMS;
  if (rate !== undefined) warnOfWindow(limit, rate, own);
  const replaces = replacedNames(limit, name, budget);
  return { limitName: name === '' ? undefined : name, rate, replaces, own };
}

function unlimited(limit: MapReader): undefined {
  const unit = limit.text('unit');
  if (unitOf(unit) !== undefined) {
    const message = 'does not fit "unlimited: true", remove one of the two';
    limit.findings.add('ratelimit-unlimited-with-unit', [...limit.path, 'unit'], message);
  } else if (unit !== '' && unit.toUpperCase() !== UNSET) {
    limit.ignored('unit', 'has no effect beside "unlimited: true"');
  }
  const requests = limit.wholeNumber('requests_per_unit', 0, MAX_REQUESTS) ?? 0;
  if (requests > 0) limit.ignored('requests_per_unit', 'has no effect beside "unlimited: true"');
  return undefined;
}

/** The unit of a rate with mistakes is a second, so that other mistakes are found too. */
function rateOf(limit: MapReader): Rate {
  const requestsPerUnit = limit.wholeNumber('requests_per_unit', 0, MAX_REQUESTS) ?? 0;
  if (!limit.has('requests_per_unit')) {
    const message = 'has no "requests_per_unit": it is 0 then, so every request is denied';
    limit.findings.add('ratelimit-always-denied', limit.path, message);
  }
  const written = limit.text('unit');
  const unit = unitOf(written);
  if (unit !== undefined) return { requestsPerUnit, unit };
  const units = `${UNITS.slice(0, -1).join(', ')} or ${UNITS.at(-1)}`;
  if (written !== '') limit.refuse('unit', `must be ${units}${hint(written.toLowerCase(), UNITS)}`);
  else if (limit.has('unit')) {
    if (limit.values.unit === '') limit.refuse('unit', `must be ${units}, not empty`);
  } else {
    const message = `is missing, it must be ${units}, or write "unlimited: true"`;
    limit.findings.add('missing-key', [...limit.path, 'unit'], message);
  }
  return { requestsPerUnit, unit: 'second' };
}

function warnOfWindow(limit: MapReader, rate: Rate, own: OwnTerms): void {
  if (own.algorithm !== undefined || !needsFixedWindow(rate)) return;
  const isMany = rate.requestsPerUnit > MAX_LIMIT;
  const message = isMany
    ? `is above ${MAX_LIMIT}, so fixed windows count it`
    : 'is longer than 31 days, so fixed windows count it';
  const key = isMany ? 'requests_per_unit' : 'unit';
  limit.findings.add('ratelimit-fixed-window', [...limit.path, key], message);
}

function replacedNames(limit: MapReader, ownName: string, budget: Budget): readonly string[] {
  const names: string[] = [];
  for (const entry of limit.maps('replaces')) {
    if (!budget.take()) {
      const message = 'is one too many: the files have too many descriptors and names to replace';
      limit.findings.add('ratelimit-too-large', entry.path, message);
      break;
    }
    entry.expectKeys(REPLACES_KEYS);
    const name = entry.text('name');
    if (name !== '') names.push(name);
    if (name === '' && !entry.has('name')) {
      const message = 'is missing, it must be the name of another limit';
      limit.findings.add('missing-key', [...entry.path, 'name'], message);
    } else if (entry.values.name === '') entry.refuse('name', 'must not be empty');
    else if (name !== '' && name === ownName) {
      const message = 'is the name of this limit, name another one';
      limit.findings.add('ratelimit-replaces-itself', [...entry.path, 'name'], message);
    }
  }
  return names.length === 0 ? NO_NAMES : names;
}

const TERM_KEYS = ['algorithm', 'burst', 'mode', 'on_store_failure'] as const;
/** The only algorithm without bounds on limits and windows. */
const FIXED_WINDOW: string = 'fixed-window';
const FAILURE_MODES = ['allow', 'deny', 'local'] as const;

function ownTerms(descriptor: MapReader, rate: Rate | undefined): OwnTerms {
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
    const fillMs = ((burst ?? rate.requestsPerUnit) * windowMsOf(rate)) / rate.requestsPerUnit;
    if (fillMs <= MAX_WINDOW_MS) return;
    const key = burst === undefined ? 'algorithm' : 'burst';
    const message = 'is a bucket that takes longer than 31d to fill at this rate';
    terms.findings.add('bucket-too-slow', [...terms.path, key], message);
  }
}

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
