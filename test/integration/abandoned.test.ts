/** Requests whose proxy has given up before headgate could look at them. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startGatewayProcess } from '../support/gateway.ts';
import { call } from '../support/http.ts';

/** So many that deciding about all of them takes longer than headgate goes on without looking at its sockets. */
const CALLERS = 3_000;
const QUESTION = 'GET /envoy/ HTTP/1.1\r\nHost: a.example\r\nX-Api-Key: alice\r\n\r\n';

describe.each([
  ['whose caller has gone are not decided', (socket: Socket) => socket.destroy(), 'gone'],
  ['whose caller waits are all decided', () => {}, 'waiting'],
])('requests that come all at once', (name, leave, kind) => {
  test(name, async () => {
    await using gateway = await startGatewayProcess();
    const sockets = await connectAll(gateway.port);
    process.kill(gateway.pid, 'SIGSTOP');
    for (const socket of sockets) socket.write(QUESTION);
    // The kernel has the bytes once they were written out.
    await Promise.all(sockets.map((socket) => drained(socket)));
    for (const socket of sockets) leave(socket);
    process.kill(gateway.pid, 'SIGCONT');

    const counts = await eventually(
      () => countsOf(gateway.opsUrl),
      ({ decided, abandoned }) => decided + abandoned === CALLERS,
      20_000,
      'every request to be counted',
    );
    if (kind === 'gone') expect(counts.abandoned).toBeGreaterThan(CALLERS / 10);
    else expect(counts.abandoned).toBe(0);
    for (const socket of sockets) socket.destroy();
  });
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
