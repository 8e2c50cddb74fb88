/** Sessions and their connections: what is kept of them, and how much may wait in them. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { createServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ConnectionGuard } from '../../../../../src/gateway/server/connection-guard.ts';
import { RepairedConnection } from '../../../../../src/gateway/server/grpc/authority/repaired-connection.ts';
import { createSessions } from '../../../../../src/gateway/server/grpc/peer-stream.ts';
import { listenLocally } from '../../../../support/local-server.ts';

let started: AsyncDisposableStack;
beforeEach(() => {
  started = new AsyncDisposableStack();
});
afterEach(() => started.disposeAsync());

/** `entered` counts the calls into Node for each connection, in the order in which they were opened. */
async function setUp() {
  const entered: number[] = [];
  const accepted: Socket[] = [];
  const sessions = createSessions();
  const server = createServer((connection) => {
    const index = accepted.push(connection) - 1;
    entered[index] = 0;
    const enter = (work: () => void) => {
      entered[index] = (entered[index] ?? 0) + 1;
      work();
    };
    const guard = { enter, leave: (work: () => void) => work() } as unknown as ConnectionGuard;
    sessions.open(connection, guard, () => {});
  });
  const { port } = started.use(await listenLocally(server));
  const call = async () => {
    const client = connectHttp2(`http://127.0.0.1:${port}`);
    await once(client, 'remoteSettings');
    return client;
  };
  return { accepted, call, entered, sessions };
}

test('a session that has ended is not kept', async () => {
  const { accepted, call, entered, sessions } = await setUp();
  const clients = [await call(), await call(), await call()];
  for (const [i, client] of clients.entries()) {
    if (i === 1) continue;
    const closed = once(accepted[i] as Socket, 'close');
    client.destroy();
    await closed;
  }
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  sessions.close();
  // Only of the one that is open.
  expect(entered).toEqual([0, 1, 0]);
  await once(clients[1] as (typeof clients)[number], 'close');
});

test('a caller that sends faster than it is read has to wait, and nothing is lost', async () => {
  const CHUNK = Buffer.alloc(16_384, 1);
  const CHUNKS = 100;
  const connection = new PassThrough();
  const repaired = new RepairedConnection(connection as unknown as Socket);
  for (let i = 0; i < CHUNKS; i++) {
    connection.write(CHUNK);
    await nextTurn();
  }
  // Its own buffer, and what was under way.
  expect(repaired.readableLength).toBeLessThan(10 * CHUNK.length);
  expect(connection.isPaused()).toBe(true);
  let length = 0;
  repaired.on('data', (chunk: Buffer) => {
    length += chunk.length;
  });
  while (length < CHUNKS * CHUNK.length) await nextTurn();
  expect(length).toBe(CHUNKS * CHUNK.length);
  connection.destroy();
});

test('what is written waits for a caller that does not read', async () => {
  const connection = new PassThrough({ highWaterMark: 1_000 });
  const repaired = new RepairedConnection(connection as unknown as Socket);
  connection.pause();
  let written = 0;
  const write = () => repaired.write(Buffer.alloc(1_000), () => written++);
  write();
  write();
  await nextTurn();
  expect(written).toBe(0);
  connection.resume();
  while (written < 2) await nextTurn();
  connection.destroy();
});
