/** Connections that end in the middle of an error leave no connection of HTTP/2 in memory. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Connection } from '../../src/gateway/http2/connection.ts';
import { headerBlock } from '../../src/gateway/http2/header-block.ts';
import { createHttp2Server } from '../../src/gateway/http2/server.ts';
import { ConnectionGuard } from '../../src/gateway/server/connection-guard.ts';
import { eventually } from '../support/eventually.ts';

const CONNECTIONS = 100;
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const SETTINGS = '\0\0\0\x04\0\0\0\0\0';
/** A request, and a PING on its stream, which is an error of the connection. */
const REQUEST = '\0\0\x06\x01\x05\0\0\0\x01\x83\x86\x84\x41\x01a';
const PING_ON_A_STREAM = `\0\0\x08\x06\0\0\0\0\x01${'\0'.repeat(8)}`;
const REFUSAL = headerBlock([[':status', '415']]);

function connectionsInMemory(): number {
  runInNewContext('gc')();
  // Its type requires a constructor without parameters.
  return Number(queryObjects(Connection as unknown as typeof Object, { format: 'count' }));
}

test.each([
  ['a request of HTTP/1', ['GET / HTTP/1.1\r\n\r\n'], 'end'],
  [
    'an error of the connection, then an end',
    [PREFACE, SETTINGS, REQUEST, PING_ON_A_STREAM],
    'end',
  ],
  [
    'an error of the connection, then a reset',
    [PREFACE, SETTINGS, REQUEST, PING_ON_A_STREAM],
    'reset',
  ],
  ['half a preface, then a reset', [PREFACE.slice(0, 9)], 'reset'],
] as const)('%s', async (_what, texts, ending) => {
  setFlagsFromString('--expose-gc');
  const http2 = createHttp2Server();
  const latest: { connection: Socket | undefined } = { connection: undefined };
  const bytesRead = () => latest.connection?.bytesRead ?? 0;
  await using server = createServer((accepted) => {
    latest.connection = accepted;
    const guard = new ConnectionGuard(accepted, () => {});
    guard.enter(() => http2.open(accepted, guard, (stream) => stream.refuse(REFUSAL)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const before = connectionsInMemory();
  for (let i = 0; i < CONNECTIONS; i++) {
    latest.connection = undefined;
    const client = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => {});
    const closed = once(client.resume(), 'close');
    await once(client, 'connect');
    for (const text of texts) {
      client.write(text, 'latin1');
      // The server reads each text before the next one is sent.
      while (client.bytesWritten > bytesRead() && !client.closed) await nextTurn();
    }
    if (ending === 'end') client.end();
    else client.resetAndDestroy();
    await closed;
  }
  latest.connection = undefined;
  http2.close();
  const left = await eventually(
    async () => connectionsInMemory() - before,
    (more) => more <= 0,
  );
  expect(left).toBeLessThanOrEqual(0);
});
