import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PeerGateways } from '../../../../../src/gateway/stores/redis/peers.ts';
import { scriptedClient } from '../../../../support/scripted-redis-client.ts';

const QUERIES = 'hg:v1:questions';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** `receivers`: what Redis says how many gateways received a query. */
function setUp({ count = 1, receivers = 1 as number | Error } = {}) {
  const { client, sent } = scriptedClient(({ name, args }) => {
    if (name !== 'publish' || args[0] !== QUERIES) return 1;
    return receivers instanceof Error ? Promise.reject(receivers) : receivers;
  });
  const gateways = new PeerGateways({
    client,
    database: 0,
    count: () => count,
    replyTo: async (query) => `own answer to ${query}`,
  });
  const [, replyChannel = ''] = gateways.channels;
  const published = () =>
    sent.map(({ args: [channel, message] }) => ({ channel, message: JSON.parse(String(message)) }));
  const reply = (id: string, answer: unknown, channel = replyChannel) =>
    gateways.onMessage(channel, JSON.stringify({ id, answer }));
  return { gateways, published, replyChannel, reply };
}

const settle = () => vi.advanceTimersByTimeAsync(0);

test('a gateway that is alone answers itself at once', async () => {
  const { gateways } = setUp();
  const replies = gateways.queryAll('q');
  await settle();
  expect(await replies).toEqual({ replies: ['own answer to q'], queried: 1 });
});

test('collects the answers of all gateways that received the query, and ends with the last one', async () => {
  const { gateways, published, replyChannel, reply } = setUp({ count: 2, receivers: 3 });
  const replies = gateways.queryAll('q');
  await settle();
  const [{ channel, message } = { channel: '', message: {} }] = published();
  expect(channel).toBe(QUERIES);
  expect(message).toMatchObject({ replyTo: replyChannel, question: 'q' });
  await reply(message.id, 'one');
  await reply('another id', 'not ours');
  await reply(message.id, 'wrong channel', 'hg:v1:questions:other');
  await reply(message.id, 'two');
  expect(await replies).toEqual({ replies: ['own answer to q', 'one', 'two'], queried: 3 });
});

test.each([
  ['missing', { count: 3, receivers: 1 }],
  ['that cannot be reached', { count: 3, receivers: new Error('Connection is closed.') }],
])('waits half a second for gateways %s', async (_, options) => {
  const { gateways } = setUp(options);
  const replies = gateways.queryAll('q');
  let isDone = false;
  void replies.then(() => {
    isDone = true;
  });
  await vi.advanceTimersByTimeAsync(499);
  expect(isDone).toBe(false);
  await vi.advanceTimersByTimeAsync(2);
  expect(await replies).toEqual({ replies: ['own answer to q'], queried: 3 });
});

test('accepts a bounded number of answers and characters', async () => {
  const many = setUp({ receivers: 5_000 });
  const first = many.gateways.queryAll('q');
  await settle();
  for (let i = 0; i < 1_200; i++) await many.reply(many.published()[0]?.message.id, i);
  const large = setUp({ receivers: 5_000 });
  const second = large.gateways.queryAll('q');
  await settle();
  const answer = 'x'.repeat(1_000_000);
  for (let i = 0; i < 12; i++) await large.reply(large.published()[0]?.message.id, answer);
  await vi.advanceTimersByTimeAsync(501);
  expect((await first).replies).toHaveLength(1_000);
  expect((await second).replies).toHaveLength(1 + 8);
});

test('answers the queries of other gateways, on their channels', async () => {
  const { gateways, published } = setUp();
  const replyTo = `${QUERIES}:other`;
  await gateways.onMessage(QUERIES, JSON.stringify({ id: 'i', replyTo, question: 'q' }));
  expect(published()).toEqual([
    { channel: replyTo, message: { id: 'i', answer: 'own answer to q' } },
  ]);
});

test.each([
  ['what is not JSON', () => 'x'],
  ['null', () => 'null'],
  ['a channel of something else', () => JSON.stringify({ id: 'i', replyTo: 'other' })],
  [
    'an id that is too long',
    () => JSON.stringify({ id: 'x'.repeat(129), replyTo: `${QUERIES}:a` }),
  ],
  ['an id that is no text', () => JSON.stringify({ id: 7, replyTo: `${QUERIES}:a` })],
  ['its own query', (own: string) => JSON.stringify({ id: 'i', replyTo: own })],
])('does not answer %s', async (_, message) => {
  const { gateways, published, replyChannel } = setUp();
  await gateways.onMessage(QUERIES, message(replyChannel));
  expect(published()).toEqual([]);
});

test('answers 50 queries per second at most', async () => {
  const { gateways, published } = setUp();
  const query = JSON.stringify({ id: 'i', replyTo: `${QUERIES}:other`, question: 'q' });
  for (let i = 0; i < 80; i++) await gateways.onMessage(QUERIES, query);
  expect(published()).toHaveLength(50);
  await vi.advanceTimersByTimeAsync(1_000);
  await gateways.onMessage(QUERIES, query);
  expect(published()).toHaveLength(51);
});

test('gateways of another database of the same Redis have other channels', () => {
  const { client } = scriptedClient(() => 1);
  const replyTo = async () => '';
  const { channels } = new PeerGateways({ client, database: 1, count: () => 1, replyTo });
  expect(channels).toEqual([
    'hg:v1:questions@1',
    expect.stringMatching(/^hg:v1:questions@1:[0-9a-f-]{36}$/),
  ]);
});
