/** What a gateway does with the configurations of a control plane, and what the control plane gets to know. */
import { describe, expect, test } from 'vitest';
import type { RuleFile } from '../../../../../src/gateway/ratelimit/rules/rule.ts';
import {
  limits,
  NODE_ID,
  RATE_LIMIT_TYPE,
  resourceOf,
  startControlPlane,
} from '../../../../support/control-plane.ts';
import { waitUntil } from '../../../../support/eventually.ts';
import { startSubscriber } from '../../../../support/subscriber.ts';

const ONE = [resourceOf(limits('shop', 3))];
const OTHER = [resourceOf(limits('shop', 5))];

const fileOf = (domain: string, requests_per_unit: number): RuleFile => ({
  name: domain,
  value: {
    domain,
    descriptors: [{ key: 'client', rate_limit: { unit: 'hour', requests_per_unit } }],
  },
});

/** Refuses configurations with a limit of 0. */
const refuseZero = (files: readonly RuleFile[]) =>
  JSON.stringify(files).includes('"requests_per_unit":0') ? ['a limit is 0', 'correct it'] : [];

test('subscribes as a node to all configurations, without a version', async () => {
  await using plane = await startControlPlane();
  using _ = startSubscriber({
    port: plane.port,
    node: { id: 'some-node', metadata: { zone: 'é', team: 'a=b' } },
    headers: { authorization: 'Bearer 1234' },
  });
  const request = await plane.request(() => true);
  expect(request).toMatchObject({
    version_info: '',
    resource_names: [],
    type_url: RATE_LIMIT_TYPE,
    response_nonce: '',
    error_detail: null,
    node: {
      id: 'some-node',
      metadata: { fields: { zone: { stringValue: 'é' }, team: { stringValue: 'a=b' } } },
    },
  });
  expect(plane.metadata[0]).toMatchObject({ authorization: 'Bearer 1234' });
});

test('applies each configuration and acknowledges its version', async () => {
  await using plane = await startControlPlane();
  plane.serve('1', ONE);
  using subscriber = startSubscriber({ port: plane.port });
  await plane.request(({ version_info }) => version_info === '1');
  plane.serve('2', [...OTHER, ...[resourceOf(limits('blog', 1))]]);
  const ack = await plane.request(({ version_info }) => version_info === '2');
  expect(ack).toMatchObject({ response_nonce: '2', error_detail: null });
  expect(ack.node?.id).toBe(NODE_ID);
  expect(subscriber.events).toEqual(['connected', 'applied 1', 'applied 2']);
  expect(subscriber.offered).toEqual([[fileOf('shop', 3)], [fileOf('blog', 1), fileOf('shop', 5)]]);
});

test('a configuration without limits is a configuration', async () => {
  await using plane = await startControlPlane();
  plane.serve('1', ONE);
  using subscriber = startSubscriber({ port: plane.port });
  await subscriber.event('applied 1');
  plane.serve('2', []);
  await plane.request(({ version_info }) => version_info === '2');
  expect(subscriber.offered).toEqual([[fileOf('shop', 3)], []]);
});

describe('a configuration with mistakes', () => {
  const BAD = [resourceOf(limits('shop', 0))];

  test('is refused with the mistakes and the version that stays in force', async () => {
    await using plane = await startControlPlane();
    plane.serve('1', ONE);
    using subscriber = startSubscriber({ port: plane.port, apply: refuseZero });
    await subscriber.event('applied 1');
    plane.serve('2', BAD);
    const nack = await plane.request(({ error_detail }) => error_detail !== null);
    expect(nack).toMatchObject({ version_info: '1', response_nonce: '2' });
    expect(nack.error_detail?.message).toBe('a limit is 0\ncorrect it');
    await subscriber.event('refused 2: a limit is 0; correct it');
    plane.serve('3', OTHER);
    const ack = await plane.request(({ version_info }) => version_info === '3');
    expect(ack.error_detail).toBeNull();
  });

  test('is reported once while the control plane repeats it, and refused each time', async () => {
    await using plane = await startControlPlane();
    plane.serve('1', BAD);
    using subscriber = startSubscriber({ port: plane.port, apply: refuseZero });
    await plane.request(({ response_nonce }) => response_nonce === '5');
    expect(plane.requests.slice(1).every(({ error_detail }) => error_detail !== null)).toBe(true);
    expect(subscriber.events).toEqual(['connected', 'refused 1: a limit is 0; correct it']);
  });

  test('is not refused at once if it is repeated at once', async () => {
    await using plane = await startControlPlane();
    plane.serve('1', BAD);
    const HOUR_MS = 3_600_000;
    const repetition = { initialMs: HOUR_MS, maxMs: HOUR_MS, randomFactor: 0 };
    using subscriber = startSubscriber({
      ...{ port: plane.port, apply: refuseZero, timing: { repetition } },
    });
    await waitUntil('it is repeated', async () => subscriber.offered.length === 2);
    plane.serve('2', ONE);
    plane.push();
    const ack = await plane.request(({ version_info }) => version_info === '2');
    expect(ack.response_nonce).toBe('3');
    // The subscription, one refusal, the acknowledgement.
    expect(plane.requests.map(({ response_nonce }) => response_nonce)).toEqual(['', '1', '3']);
  });

  test('is refused with a text of bounded length', async () => {
    await using plane = await startControlPlane();
    plane.serve('1', BAD);
    const mistakes = Array.from({ length: 10_000 }, (_, i) => `${i}${'\u001b'.repeat(1_000)}`);
    using _ = startSubscriber({ port: plane.port, apply: () => mistakes });
    const nack = await plane.request(({ error_detail }) => error_detail !== null);
    const lines = nack.error_detail?.message.split('\n') ?? [];
    expect(lines).toHaveLength(21);
    expect(lines[0]).toMatch(/^0\\u\{1b\}.*…$/);
    expect(lines[20]).toBe('and 9980 more');
    expect(nack.error_detail?.message.length).toBeLessThan(12_000);
  });

  test('is refused if it breaks the compiler', async () => {
    await using plane = await startControlPlane();
    plane.serve('1', ONE);
    using subscriber = startSubscriber({
      port: plane.port,
      apply: () => {
        throw new RangeError('Maximum call stack size exceeded');
      },
    });
    const refused = await subscriber.event('refused 1');
    expect(refused).toContain('the configuration cannot be used: Maximum call stack size exceeded');
  });
});

describe('resources that are no configuration are refused', () => {
  const nested = (levels: number): Buffer => {
    let bytes = Buffer.alloc(0);
    for (let i = 0; i < levels; i++) {
      const length = bytes.length;
      const head = length < 128 ? [34, length] : [34, (length % 128) + 128, length >> 7];
      bytes = Buffer.concat([Buffer.from(head), bytes]);
    }
    // The outermost descriptors are in the field 3.
    bytes[0] = 26;
    return bytes;
  };

  test.each([
    [
      'another type',
      { type_url: 'type.googleapis.com/x', value: Buffer.alloc(0) },
      'has the type "type.googleapis.com/x"',
    ],
    [
      'a truncated message',
      { type_url: RATE_LIMIT_TYPE, value: Buffer.from([26, 9, 10]) },
      'is malformed: a field is longer than the message',
    ],
    [
      'deep nesting',
      { type_url: RATE_LIMIT_TYPE, value: nested(65) },
      'is malformed: its descriptors are nested more than 64 levels deep',
    ],
  ])('%s', async (_, resource, mistake) => {
    await using plane = await startControlPlane();
    plane.serve('1', [...ONE, resource]);
    using subscriber = startSubscriber({ port: plane.port });
    const nack = await plane.request(({ error_detail }) => error_detail !== null);
    expect(nack.error_detail?.message).toBe(`resource 2 ${mistake}`);
    expect(subscriber.offered).toEqual([]);
  });
});

describe('without the control plane', () => {
  test('keeps the configuration, connects again, and asks for everything anew', async () => {
    await using plane = await startControlPlane();
    plane.serve('1', ONE);
    using subscriber = startSubscriber({ port: plane.port });
    await subscriber.event('applied 1');
    plane.endStreams();
    await subscriber.event('applied 1', 2);
    expect(subscriber.events).toEqual([
      'connected',
      'applied 1',
      'disconnected: it ended the stream with the gRPC status 14: the snapshot is being made',
      'connected',
      'applied 1',
    ]);
    const subscriptions = plane.requests.filter(({ response_nonce }) => response_nonce === '');
    expect(subscriptions.map(({ version_info }) => version_info)).toEqual(['', '']);
  });

  test('gets the configuration of a restarted control plane that counts versions from 1 again', async () => {
    const first = await startControlPlane();
    first.serve('1', ONE);
    using subscriber = startSubscriber({ port: first.port });
    await subscriber.event('applied 1');
    await first[Symbol.asyncDispose]();
    await subscriber.event('disconnected', 3);
    await using second = await startControlPlane({ port: first.port });
    second.serve('1', OTHER);
    await subscriber.event('applied 1', 2);
    expect(subscriber.offered).toEqual([[fileOf('shop', 3)], [fileOf('shop', 5)]]);
  });

  test('waits longer after each failure, and as at first once it got a configuration', async () => {
    await using plane = await startControlPlane();
    const reconnection = { initialMs: 1, maxMs: 64, randomFactor: 0 };
    using subscriber = startSubscriber({ port: plane.port, timing: { reconnection } });
    for (let failures = 1; failures <= 4; failures++) {
      await waitUntil('it subscribes', async () => plane.requests.length === failures);
      plane.endStreams();
      await subscriber.event('disconnected', failures);
    }
    plane.serve('1', ONE);
    await subscriber.event('applied 1');
    plane.endStreams();
    await subscriber.event('disconnected', 5);
    expect(subscriber.waitsMs).toEqual([1, 2, 4, 8, 1]);
  });

  test('does nothing more once it is closed', async () => {
    const plane = await startControlPlane();
    plane.serve('1', ONE);
    const subscriber = startSubscriber({ port: plane.port });
    await subscriber.event('applied 1');
    subscriber[Symbol.dispose]();
    await plane[Symbol.asyncDispose]();
    await using again = await startControlPlane({ port: plane.port });
    again.serve('2', OTHER);
    using other = startSubscriber({ port: plane.port });
    // Longer than the longest wait of the one that was closed.
    for (let round = 1; round <= 10; round++) {
      await other.event('applied 2', round);
      again.endStreams();
    }
    const subscriptions = again.requests.filter(({ response_nonce }) => response_nonce === '');
    expect(subscriptions).toHaveLength(10);
    expect(subscriber.events).toEqual(['connected', 'applied 1']);
  });
});
