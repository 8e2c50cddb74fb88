/** Random rate limit configurations, and random calls that often match them. */
import type { Random } from '../../test/support/random.ts';

interface Descriptor {
  readonly key: string;
  readonly value?: string;
  readonly descriptors?: readonly Descriptor[];
  readonly [name: string]: unknown;
}

export interface Configuration {
  readonly domain: string;
  readonly descriptors: readonly Descriptor[];
}

const KEYS = ['a', 'b', 'c_x'];
const VALUES = ['1', '2', 'x', 'x1', 'long_value'];
const PATTERNS = ['*', 'x*', '*1', 'l*g_*e', '2*'];
const UNITS = ['minute', 'hour', 'day', 'week', 'month', 'year', 'Hour', 'MINUTE'];
const NAMES = ['first', 'second', 'third'];
const MOST_LEVELS = 3;

export function randomConfiguration(random: Random, domain: string): Configuration {
  return { domain, descriptors: descriptorsOf(random, 1) };
}

function descriptorsOf(random: Random, level: number): Descriptor[] {
  const made = new Map<string, Descriptor>();
  const count = 1 + random.below(4);
  for (let i = 0; i < count; i++) {
    const descriptor = descriptorOf(random, level);
    made.set(`${descriptor.key}_${descriptor.value ?? ''}`, descriptor);
  }
  return [...made.values()];
}

function descriptorOf(random: Random, level: number): Descriptor {
  const value = randomValue(random);
  const isPattern = value?.includes('*') ?? false;
  const hasLimit = random.below(4) > 0;
  const hasChildren = level < MOST_LEVELS && random.below(2) === 0;
  return {
    key: random.oneOf(KEYS),
    ...(value !== undefined && { value }),
    ...(isPattern && random.below(2) === 0 && { share_threshold: true }),
    ...(hasLimit && {
      rate_limit: limitOf(random),
      ...(random.below(8) === 0 && { shadow_mode: true }),
      ...(random.below(8) === 0 && { quota_mode: true }),
    }),
    ...(hasChildren && { descriptors: descriptorsOf(random, level + 1) }),
  };
}

function randomValue(random: Random): string | undefined {
  const kind = random.below(3);
  if (kind === 0) return undefined;
  return random.oneOf(kind === 1 ? VALUES : PATTERNS);
}

function limitOf(random: Random): object {
  const replaces = random.below(8) === 0 ? [{ name: random.oneOf(NAMES) }] : undefined;
  const name = random.below(3) === 0 ? random.oneOf(NAMES) : undefined;
  const named = {
    ...(name !== undefined && { name }),
    ...(replaces !== undefined && replaces[0]?.name !== name && { replaces }),
  };
  if (random.below(10) === 0) return { unlimited: true, ...named };
  return { unit: random.oneOf(UNITS), requests_per_unit: random.below(12), ...named };
}

/** A call to one of the domains or, rarely, to another one. */
export function randomCall(random: Random, domains: readonly string[]): object {
  const hits = random.below(3) === 0 ? random.below(5) : 0;
  const count = random.below(20) === 0 ? 0 : 1 + random.below(3);
  return {
    domain: random.below(30) === 0 ? random.oneOf(['', 'unknown']) : random.oneOf(domains),
    descriptors: Array.from({ length: count }, () => randomDescriptor(random)),
    hits_addend: hits,
  };
}

function randomDescriptor(random: Random): object {
  const entries = Array.from({ length: 1 + random.below(MOST_LEVELS) }, () => ({
    key: random.oneOf(KEYS),
    value: random.oneOf(random.below(10) === 0 ? PATTERNS : VALUES),
  }));
  return {
    entries,
    ...(random.below(6) === 0 && { hits_addend: { value: random.below(6) } }),
    ...(random.below(12) === 0 && {
      limit: { requests_per_unit: random.below(9), unit: 2 + random.below(5) },
    }),
  };
}
