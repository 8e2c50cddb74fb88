import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const FILES = [
  'envoy/envoy.yaml',
  'envoy/envoy-grpc.yaml',
  'kubernetes/overlays/sidecar/envoy.yaml',
];

/** Every object below a value that has this key. */
function objectsWith(key: string, value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.values(value).flatMap((each) => objectsWith(key, each));
  return key in value ? [value as Record<string, unknown>, ...below] : below;
}

describe.each(FILES)('deploy/%s', (file) => {
  const text = readFileSync(new URL(`../../../../../deploy/${file}`, import.meta.url), 'utf8');

  test('refuses identifying headers that are not UTF-8, before the check', () => {
    const filters = objectsWith('http_filters', parse(text)).flatMap(
      ({ http_filters }) => http_filters as { name: string }[],
    );
    const names = filters.map(({ name }) => name);
    const check = names.indexOf('headgate.ext_authz');
    expect(names[check - 1]).toBe('headgate.identifying_headers');
    const refused = objectsWith('invert_match', filters[check - 1]).map(({ name }) => name);
    expect(refused).toEqual(['x-api-key', 'cf-connecting-ip']);
  });

  // An empty range list means the default: all private addresses.
  test('lets no client choose the request id by which headgate counts once', () => {
    const managers = objectsWith('use_remote_address', parse(text));
    expect(managers.length).toBeGreaterThan(0);
    for (const manager of managers) {
      expect(manager).toMatchObject({
        use_remote_address: true,
        internal_address_config: { cidr_ranges: [{ address_prefix: '0.0.0.0', prefix_len: 32 }] },
      });
    }
  });
});
