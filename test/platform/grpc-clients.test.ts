/** What the clients of other gRPC libraries get from the gRPC port, over clear text and TLS. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { type Gateway, PATIENT, startGateway } from '../support/gateway.ts';
import { checkRequestBytes, envoyCheckRequest } from '../support/grpc-client.ts';
import { AUTHORIZATION, CHECK, field } from '../support/grpc-frames.ts';
import { call } from '../support/http.ts';
import { ownRedisIsHere, startRedis, type TestRedis } from '../support/redis.ts';
import { connectGrpcJs } from './support/grpc-clients/grpc-js.ts';
import { outcomeOf } from './support/grpc-clients/outcome.ts';
import { type Switchboard, startSwitchboard } from './support/grpc-clients/switchboard.ts';
import {
  check,
  type Ended,
  startClientProgram,
  type TestedClient,
} from './support/grpc-clients/tested-client.ts';

const programs = inject('programs');
const PYTHON_CLIENT = join(import.meta.dirname, 'support/grpc-clients/python/client.py');

type Connect = (target: string, caFile: string | undefined) => TestedClient;
const CLIENTS: readonly (readonly [name: string, isHere: boolean, connect: Connect])[] = [
  ['grpc-js', true, connectGrpcJs],
  [
    'grpc-go',
    programs['grpc-go-client'] !== undefined,
    (...args) => startClientProgram(programs['grpc-go-client'] ?? '', given(args)),
  ],
  [
    'grpcio',
    programs.grpcio !== undefined,
    (...args) => {
      const PYTHONPATH = dirname(dirname(programs.grpcio ?? ''));
      const env = { ...process.env, PYTHONPATH };
      return startClientProgram('python3', [PYTHON_CLIENT, ...given(args)], env);
    },
  ],
];
const given = (args: readonly (string | undefined)[]) => args.filter((each) => each !== undefined);

const scratch = mkdtempSync(join(tmpdir(), 'headgate-grpc-clients-'));
const { caFile, issue } = createAuthority(scratch);
const { certificate, key } = issue('gateway');
const TLS = { HEADGATE_GRPC_TLS_CERT: certificate, HEADGATE_GRPC_TLS_KEY: key };
afterAll(() => rmSync(scratch, { recursive: true }));

const CASES = CLIENTS.flatMap(([name, isHere, connect]) =>
  (['clear text', 'TLS'] as const).map((over) => ({ name, isHere, connect, over })),
);

const HEALTH = '/grpc.health.v1.Health';
const LIMIT = 1_000;
const LOGIN = { method: 'POST', path: '/api/auth/login' };
/** Messages of the health service. */
const ANY_SERVICE = Buffer.alloc(0);
const SERVING = Buffer.from([8, 1]);
const NOT_SERVING = Buffer.from([8, 2]);
/** A field that no version of the message has. */
const LARGE_FIELD = field(500, Buffer.alloc(400 * 1024, 'headgate'));

describe.each(CASES)('$name over $over', ({ isHere, connect, over }) => {
  const env = { HEADGATE_GRPC_PORT: '0', ...(over === 'TLS' && TLS) };
  const testHere = test.skipIf(!isHere || !ownRedisIsHere);
  const stack = new AsyncDisposableStack();
  let redis: TestRedis;
  let gateway: Gateway;
  let board: Switchboard;
  let client: TestedClient;
  let clients = 0;
  let peer: string;

  const open = (port: number) => connect(`127.0.0.1:${port}`, over === 'TLS' ? caFile : undefined);
  const large = () => Buffer.concat([checkRequestBytes(envoyCheckRequest({ peer })), LARGE_FIELD]);

  beforeAll(async () => {
    if (!isHere || !ownRedisIsHere) return;
    redis = stack.use(await startRedis());
    gateway = stack.use(await startGateway({ ...env, ...PATIENT, HEADGATE_REDIS_URL: redis.url }));
    board = stack.use(await startSwitchboard(gateway.grpcPort));
    client = stack.use(open(board.port));
  });
  afterAll(() => stack.disposeAsync());

  const nextPeer = () => {
    peer = `198.51.100.${++clients}`;
  };

  testHere('gets five allows and a denial', async () => {
    nextPeer();
    const outcomes: unknown[] = [];
    for (let i = 0; i < 6; i++) {
      outcomes.push(outcomeOf(await check(client, envoyCheckRequest({ ...LOGIN, peer }))));
    }
    expect(outcomes).toEqual([200, 200, 200, 200, 200, 429]);
  });

  testHere(
    'has as many calls at once on one connection allowed as the limit, and no more',
    async () => {
      nextPeer();
      const request = envoyCheckRequest({ peer });
      const ended = await Promise.all(Array.from({ length: LIMIT }, () => check(client, request)));
      expect(tally(ended)).toEqual({ 200: LIMIT });
      expect(outcomeOf(await check(client, request))).toBe(429);
      expect(board.connections).toBe(1);
    },
  );

  testHere.each([false, true])('sends a message of 400 KiB, with gzip: %s', async (gzip) => {
    nextPeer();
    const ended = await Promise.all(
      Array.from({ length: 5 }, () => client.begin(CHECK, large(), { gzip }).ended),
    );
    expect(tally(ended)).toEqual({ 200: 5 });
  });

  testHere('goes on after calls that were late, and calls that it cancelled', async () => {
    nextPeer();
    const request = envoyCheckRequest({ peer });
    redis.signal('SIGSTOP');
    const late = check(client, request, { withinMs: 200 });
    const cancelled = client.begin(CHECK, checkRequestBytes(request));
    const patient = check(client, request);
    expect((await late).code).toBe(status.DEADLINE_EXCEEDED);
    // Answered on the same connection behind the calls, so that the gateway has them.
    expect((await client.begin(`${HEALTH}/Check`, ANY_SERVICE).ended).messages).toEqual([SERVING]);
    cancelled.cancel();
    expect((await cancelled.ended).code).toBe(status.CANCELLED);
    redis.signal('SIGCONT');
    expect(outcomeOf(await patient)).toBe(200);
    expect(outcomeOf(await check(client, request))).toBe(200);
  });

  testHere('watches health until it cancels, or its time is over', async () => {
    const watch = client.beginStream(`${HEALTH}/Watch`, ANY_SERVICE);
    expect(await watch.first).toEqual(SERVING);
    watch.cancel();
    expect((await watch.ended).code).toBe(status.CANCELLED);
    const short = client.beginStream(`${HEALTH}/Watch`, ANY_SERVICE, { withinMs: 500 });
    expect(await short.ended).toMatchObject({
      code: status.DEADLINE_EXCEEDED,
      messages: [SERVING],
    });
    expect((await check(client, envoyCheckRequest())).code).toBe(status.OK);
  });

  testHere('loses no call when its gateway stops and another one takes its place', async () => {
    await using first = await startGateway(env);
    await using second = await startGateway(env);
    await using way = await startSwitchboard(first.grpcPort);
    await using caller = open(way.port);
    const watch = caller.beginStream(`${HEALTH}/Watch`, field(1, Buffer.from(AUTHORIZATION)));
    expect(await watch.first).toEqual(SERVING);
    const ended: Ended[] = [];
    const answeredBySecond = async () =>
      Number(/_count (\d+)/.exec((await call(second.opsUrl, '/metrics')).body)?.[1] ?? 0);
    let isOver = false;
    const callOn = async () => {
      while (!isOver) ended.push(await check(caller, envoyCheckRequest({ peer: '203.0.113.9' })));
    };
    const callers = Array.from({ length: 32 }, callOn);
    while (ended.length < 200) await callersTurn();
    way.target = second.grpcPort;
    await first.stop();
    const before = ended.length;
    while (ended.length < before + 200) await callersTurn();
    isOver = true;
    await Promise.all(callers);
    expect(ended.filter(({ code }) => code !== status.OK)).toEqual([]);
    expect((await watch.ended).messages).toEqual([SERVING, NOT_SERVING]);
    expect(await answeredBySecond()).toBeGreaterThan(0);
  });
});

const callersTurn = () => new Promise((resolve) => setTimeout(resolve, 5));

function tally(ended: readonly Ended[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const each of ended) {
    const outcome = outcomeOf(each);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}
