/** Requests whose proxy has closed the connection before headgate reads them. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { call } from '../support/http.ts';

/** Deciding all of these takes longer than headgate goes on before it looks at its sockets again. */
const CALLERS = 3_000;
const REQUEST = 'GET /envoy/ HTTP/1.1\r\nHost: a.example\r\nX-Api-Key: alice\r\n\r\n';

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGatewayProcess();
});
afterAll(() => gateway?.stop());

test.each([
  ['a gateway does not decide requests that are closed before it reads them', true],
  ['a gateway decides all requests whose callers wait', false],
])('%s', async (_name, isClosed) => {
  const before = await countsOf(gateway.opsUrl);
  const sockets = await connectAll(gateway.port);
  process.kill(gateway.pid, 'SIGSTOP');
  for (const socket of sockets) socket.write(REQUEST);
  // The kernel has the bytes once they are written.
  await Promise.all(sockets.map((socket) => drained(socket)));
  if (isClosed) for (const socket of sockets) socket.destroy();
  process.kill(gateway.pid, 'SIGCONT');

  const counts = await eventually(
    () => countsOf(gateway.opsUrl),
    ({ decided, abandoned }) => decided + abandoned === before.decided + before.abandoned + CALLERS,
    60_000,
    'every request to be counted',
  );
  const abandoned = counts.abandoned - before.abandoned;
  if (isClosed) expect(abandoned).toBeGreaterThan(CALLERS / 10);
  else expect(abandoned).toBe(0);
  for (const socket of sockets) socket.destroy();
});

async function connectAll(port: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < CALLERS; i++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    sockets.push(socket);
  }
  return sockets;
}

async function drained(socket: Socket): Promise<void> {
  if (socket.writableLength > 0) await once(socket, 'drain');
}

async function countsOf(opsUrl: string): Promise<{ decided: number; abandoned: number }> {
  const { body } = await call(opsUrl, '/metrics');
  const sum = (pattern: RegExp) =>
    [...body.matchAll(pattern)].reduce((total, [, count]) => total + Number(count), 0);
  return {
    decided: sum(/^headgate_decisions_total\{.*\} (\d+)$/gm),
    abandoned: sum(/^headgate_requests_abandoned_total (\d+)$/gm),
  };
}
