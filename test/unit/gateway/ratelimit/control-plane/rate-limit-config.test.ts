/** A control plane's configuration as a YAML file would say it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MalformedMessage } from '../../../../../src/gateway/protobuf/reader.ts';
import { readRateLimitConfig } from '../../../../../src/gateway/ratelimit/control-plane/rate-limit-config.ts';
import { configBytes } from '../../../../support/control-plane.ts';
import { field } from '../../../../support/grpc-frames.ts';

const fileOf = (bytes: Buffer) => readRateLimitConfig(bytes);
const valueIn = (config: object) => fileOf(configBytes(config)).value;

test('has everything that the message says', () => {
  const config = {
    name: 'envoy-gateway-system/eg/http',
    domain: 'shop',
    descriptors: [
      {
        key: 'route',
        value: 'route/a*b',
        descriptors: [
          {
            key: 'client',
            rate_limit: {
              unit: 'WEEK',
              requests_per_unit: 4_294_967_295,
              name: 'weekly',
              replaces: [{ name: 'daily' }, { name: 'ä' }],
            },
            shadow_mode: true,
            quota_mode: true,
            detailed_metric: true,
          },
          { key: 'admin', rate_limit: { unlimited: true } },
        ],
      },
      { key: 'nobody', rate_limit: { unit: 'DAY' } },
    ],
  };
  expect(fileOf(configBytes(config))).toEqual({
    name: 'envoy-gateway-system/eg/http',
    value: {
      domain: 'shop',
      descriptors: [
        {
          key: 'route',
          value: 'route/a*b',
          descriptors: [
            {
              key: 'client',
              rate_limit: {
                unit: 'week',
                requests_per_unit: 4_294_967_295,
                name: 'weekly',
                replaces: [{ name: 'daily' }, { name: 'ä' }],
              },
              shadow_mode: true,
              quota_mode: true,
              detailed_metric: true,
            },
            { key: 'admin', rate_limit: { unlimited: true } },
          ],
        },
        { key: 'nobody', rate_limit: { unit: 'day', requests_per_unit: 0 } },
      ],
    },
  });
});

test.each(['second', 'minute', 'hour', 'day', 'week', 'month', 'year'])('the unit %s', (unit) => {
  const rate_limit = { unit: unit.toUpperCase(), requests_per_unit: 1 };
  expect(valueIn({ descriptors: [{ key: 'a', rate_limit }] })).toMatchObject({
    descriptors: [{ rate_limit: { unit } }],
  });
});

test('leaves out the unit UNKNOWN, and keeps the number of a unit that does not exist', () => {
  const unknown = { key: 'a', rate_limit: { requests_per_unit: 1 } };
  expect(valueIn({ domain: 'd', descriptors: [unknown] })).toEqual({
    domain: 'd',
    descriptors: [{ key: 'a', rate_limit: { requests_per_unit: 1 } }],
  });
  const policy = Buffer.from([8, 9]);
  const strange = field(3, field(1, Buffer.from('a')), field(3, policy));
  expect(fileOf(strange).value).toMatchObject({ descriptors: [{ rate_limit: { unit: '9' } }] });
});

test('keeps what does not go together, so that the compiler reports it', () => {
  const rate_limit = { unlimited: true, unit: 'DAY', requests_per_unit: 2 };
  expect(valueIn({ descriptors: [{ key: '', rate_limit }] })).toEqual({
    domain: '',
    descriptors: [{ key: '', rate_limit: { unlimited: true, unit: 'day', requests_per_unit: 2 } }],
  });
});

test('is named after its domain if it has no name', () => {
  expect(fileOf(configBytes({ domain: 'shop' }))).toEqual({
    name: 'shop',
    value: { domain: 'shop' },
  });
});

test('joins a policy that arrives in parts, as protobuf says', () => {
  const key = field(1, Buffer.from('a'));
  const parts = [field(3, Buffer.from([8, 3])), field(3, Buffer.from([16, 7]))];
  expect(fileOf(field(3, key, ...parts)).value).toMatchObject({
    descriptors: [{ rate_limit: { unit: 'hour', requests_per_unit: 7 } }],
  });
});

test('descriptors may be nested 64 levels deep', () => {
  const nested = (levels: number): Buffer =>
    levels === 0 ? Buffer.alloc(0) : field(4, nested(levels - 1));
  const config = (levels: number) => field(3, nested(levels - 1));
  expect(() => fileOf(config(64))).not.toThrow();
  for (const levels of [65, 10_000]) {
    expect(() => fileOf(config(levels))).toThrow('nested more than 64 levels deep');
  }
});

test('a message with too many descriptors is refused', () => {
  const one = field(3, Buffer.alloc(0));
  expect(() => fileOf(Buffer.concat(Array(250_000).fill(one)))).not.toThrow();
  const tooMany = Buffer.concat(Array(250_001).fill(one));
  expect(() => fileOf(tooMany)).toThrow('it has more than 250000 descriptors');
});

test('any bytes are a configuration or malformed', () => {
  const config = configBytes({
    domain: 'd',
    descriptors: [{ key: 'k', descriptors: [{ key: 'l', rate_limit: { unit: 'DAY' } }] }],
  });
  const changed = fc.tuple(fc.nat(config.length - 1), fc.nat(255)).map(([at, byte]) => {
    const copy = Buffer.from(config);
    copy[at] = byte;
    return copy;
  });
  fc.assert(
    fc.property(fc.oneof(changed, fc.uint8Array({ maxLength: 60 })), (bytes) => {
      try {
        expect(typeof fileOf(Buffer.from(bytes)).name).toBe('string');
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedMessage);
      }
    }),
    { numRuns: 5_000 },
  );
});
