export const FILE_KEYS = ['domain', 'descriptors'] as const;
/** A key of ours. envoyproxy/ratelimit refuses files that have it. */
export const OWN_KEY = 'headgate';
export const DESCRIPTOR_KEYS = [
  'key',
  'value',
  'rate_limit',
  'descriptors',
  'shadow_mode',
  'quota_mode',
  'detailed_metric',
  'value_to_metric',
  'share_threshold',
  'metadata',
  OWN_KEY,
] as const;
export const RATE_LIMIT_KEYS = [
  'requests_per_unit',
  'unit',
  'unlimited',
  'name',
  'replaces',
] as const;
export const REPLACES_KEYS = ['name'] as const;

/** Keys whose value is text, even if it looks like a number or like true or false: `mode: off`. */
export const TEXT_KEYS: ReadonlySet<string> = new Set([
  ...['domain', 'key', 'value', 'unit', 'name'],
  ...['algorithm', 'mode', 'on_store_failure'],
]);
export const METADATA = 'metadata';

const HOMES: readonly (readonly [readonly string[], string])[] = [
  [['domain'], 'to the top of the file'],
  [['key', 'value', 'descriptors'], 'to a descriptor'],
  [RATE_LIMIT_KEYS, 'into rate_limit'],
  [DESCRIPTOR_KEYS, 'beside rate_limit'],
];

/** Where a key has an effect: `into rate_limit`; undefined if it is known nowhere. envoyproxy/ratelimit knows it anywhere. */
export function homeOf(key: string): string | undefined {
  return HOMES.find(([keys]) => keys.includes(key))?.[1];
}

/** Stands for a value that is reported already. */
export const REPORTED = Symbol('reported');
