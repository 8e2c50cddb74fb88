/** What a gateway does for the messages of the others. */
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  listenToPeers,
  type PeerListenerOptions,
} from '../../../../../src/gateway/app/redis/peer-listener.ts';
import {
  KEYS_CHANNEL,
  OVERRIDES_CHANNEL,
  QUERIES_CHANNEL,
  RESET_CHANNEL,
  SALTS_CHANNEL,
} from '../../../../../src/gateway/stores/redis/channels.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** `refuses`: channels that the account may not subscribe to. */
function setUp({ refuses = '' } = {}) {
  const subscriber = Object.assign(new EventEmitter(), {
    subscribe: async (...channels: string[]) => {
      if (channels.includes(refuses)) throw new Error('NOPERM');
    },
  });
  const denialCache = { enable: vi.fn(), disable: vi.fn(), forget: vi.fn() };
  const gateways = { channels: [QUERIES_CHANNEL, 'reply'], onMessage: vi.fn() };
  const events = { onReset: vi.fn(), onOverridesChanged: vi.fn(), onKeysChanged: vi.fn() };
  const othersUnheard = vi.fn();
  const restoreSalts = vi.fn(async () => {
    throw new Error('Redis failed');
  });
  const options = {
    ...{ subscriber, gateways, denialCache, events, restoreSalts },
    telemetry: { othersUnheard },
  };
  listenToPeers(options as unknown as PeerListenerOptions);
  const connect = async () => {
    subscriber.emit('ready');
    await vi.advanceTimersByTimeAsync(0);
  };
  const hear = (channel: string, message: string) => subscriber.emit('message', channel, message);
  return { connect, denialCache, events, gateways, hear, othersUnheard, restoreSalts, subscriber };
}

test('denials are cached only while resets arrive', async () => {
  const { connect, denialCache, othersUnheard, subscriber } = setUp();
  expect(denialCache.enable).not.toHaveBeenCalled();
  await connect();
  expect(denialCache.enable).toHaveBeenCalledOnce();
  expect(denialCache.disable).not.toHaveBeenCalled();
  subscriber.emit('close');
  expect(denialCache.disable).toHaveBeenCalledOnce();
  // A connection that breaks is reported by itself.
  expect(othersUnheard).not.toHaveBeenCalled();
});

test.each([RESET_CHANNEL, OVERRIDES_CHANNEL, KEYS_CHANNEL, SALTS_CHANNEL])(
  'an account that may not subscribe to %s is reported',
  async (channel) => {
    const { connect, denialCache, othersUnheard } = setUp({ refuses: channel });
    await connect();
    expect(othersUnheard.mock.calls).toEqual([[new Error('NOPERM')]]);
    expect(denialCache.enable.mock.calls.length).toBe(channel === RESET_CHANNEL ? 0 : 1);
  },
);

test('a reset clears the cached denials, and deletes its counters', () => {
  const { denialCache, events, hear } = setUp();
  hear(RESET_CHANNEL, '["a","b"]');
  hear(RESET_CHANNEL, 'no JSON');
  expect(denialCache.forget).toHaveBeenCalledTimes(2);
  expect(events.onReset.mock.calls).toEqual([[['a', 'b']], [[]]]);
});

test('of more than 50 resets in a second, each still clears the cached denials', () => {
  const { denialCache, events, hear } = setUp();
  for (let i = 0; i < 60; i++) hear(RESET_CHANNEL, '[]');
  expect(denialCache.forget).toHaveBeenCalledTimes(60);
  expect(events.onReset).toHaveBeenCalledTimes(50);
});

test.each([
  ['overrides', OVERRIDES_CHANNEL, 'onOverridesChanged'],
  ['changes of keys', KEYS_CHANNEL, 'onKeysChanged'],
] as const)(
  '%s are read on each connection and each change, ten times a second at most',
  async (_, channel, event) => {
    const { connect, events, hear } = setUp();
    await connect();
    expect(events[event]).toHaveBeenCalledOnce();
    for (let i = 0; i < 50; i++) hear(channel, '');
    expect(events[event]).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(100);
    expect(events[event]).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(1_000);
    hear(channel, '');
    expect(events[event]).toHaveBeenCalledTimes(3);
  },
);

test('queries and their replies go to the part that answers them', () => {
  const { events, gateways, hear } = setUp();
  hear(QUERIES_CHANNEL, 'a query');
  hear('reply', 'a reply');
  hear('another channel', 'a message');
  expect(gateways.onMessage.mock.calls).toEqual([
    [QUERIES_CHANNEL, 'a query'],
    ['reply', 'a reply'],
  ]);
  expect(events.onOverridesChanged).not.toHaveBeenCalled();
});

test('salts are written back when a gateway asks, at most ten times a second', async () => {
  const { connect, gateways, hear, restoreSalts } = setUp();
  await connect();
  for (let i = 0; i < 1_000; i++) hear(SALTS_CHANNEL, '');
  expect(restoreSalts).toHaveBeenCalledOnce();
  await vi.advanceTimersByTimeAsync(100);
  expect(restoreSalts).toHaveBeenCalledTimes(2);
  expect(gateways.onMessage).not.toHaveBeenCalled();
});
