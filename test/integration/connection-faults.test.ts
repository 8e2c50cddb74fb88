/** A fault in the code that reads or writes a connection closes this connection. Any other fault ends the process. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { connectGrpc, envoyCheckRequest, type GrpcClient } from '../support/grpc-client.ts';
import { outcome } from '../support/grpc-outcomes.ts';
import { call } from '../support/http.ts';
import { frame, START, Type } from '../support/http2-frames.ts';
import { metric } from '../support/metrics.ts';
import { freePort } from '../support/ports.ts';

const FAULTY = new URL('./support/faulty-node.ts', import.meta.url);
/** What faulty-node.ts looks for, and when it throws. */
const FAULTS = {
  'at once': 'fault-00',
  'in the next tick': 'fault-01',
  'in the next turn': 'fault-02',
  'in a promise': 'fault-03',
} as const;
const NAMES = Object.keys(FAULTS) as (keyof typeof FAULTS)[];

const scratch = mkdtempSync(join(tmpdir(), 'headgate-faults-'));
afterAll(() => rmSync(scratch, { recursive: true }));

describe.each([1, 2])('with %i worker(s)', (workers) => {
  let gateway: GatewayProcess;
  let other: GrpcClient;

  beforeAll(async () => {
    gateway = await startGatewayProcess({
      HEADGATE_GRPC_PORT: '0',
      HEADGATE_WORKERS: String(workers),
      // It is down, and requests pass.
      ...(workers > 1 && { HEADGATE_REDIS_URL: `redis://127.0.0.1:${await freePort()}` }),
      NODE_OPTIONS: `--import=${FAULTY}`,
    });
    other = connectGrpc(gateway.grpcPort);
    await other.check(envoyCheckRequest());
  });
  afterAll(async () => {
    other[Symbol.dispose]();
    await gateway.stop();
  });

  const faults = (port: string) =>
    metric(gateway, `headgate_connection_faults_total{port="${port}"}`);
  const linesOf = (event: string) => gateway.output().split(`"event":"${event}"`).length - 1;
  const stillAnswers = async () => {
    expect(outcome(await other.check(envoyCheckRequest()))).toBe(200);
    expect((await call(gateway.url, '/envoy/a')).status).toBe(200);
    expect(linesOf('crashed')).toBe(0);
    expect(linesOf('worker_lost')).toBe(0);
  };

  test.each(NAMES)('a fault %s, over gRPC', async (name) => {
    const before = await faults('grpc');
    const socket = connect(gateway.grpcPort, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    socket.write(Buffer.concat([START, frame(Type.ping, 0, 0, Buffer.from(FAULTS[name]))]));
    await once(socket.resume(), 'close');
    await eventually(
      () => faults('grpc'),
      (count) => count === before + 1,
    );
    await stillAnswers();
  });

  test.each(NAMES)('a fault %s, over HTTP', async (name) => {
    const before = await faults('check');
    const socket = connect(gateway.port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    socket.write(`GET /envoy/${FAULTS[name]} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await once(socket.resume(), 'close');
    await eventually(
      () => faults('check'),
      (count) => count === before + 1,
    );
    await stillAnswers();
  });

  test('they are logged once a minute for each port', () => {
    // Each worker logs its own.
    expect(linesOf('connection_failed')).toBeGreaterThanOrEqual(2);
    expect(linesOf('connection_failed')).toBeLessThanOrEqual(2 * workers);
  });
});

test.each(NAMES)('a fault %s, over TLS', async (name) => {
  const issuer = createAuthority(mkdtempSync(join(scratch, 'tls-')));
  const { certificate, key } = issuer.issue('gateway');
  await using gateway = await startGatewayProcess({
    HEADGATE_GRPC_PORT: '0',
    HEADGATE_GRPC_TLS_CERT: certificate,
    HEADGATE_GRPC_TLS_KEY: key,
    NODE_OPTIONS: `--import=${FAULTY}`,
  });
  const socket = connectTls({
    port: gateway.grpcPort,
    ca: readFileSync(issuer.caFile),
    ALPNProtocols: ['h2'],
    servername: 'localhost',
  }).on('error', () => {});
  await once(socket, 'secureConnect');
  socket.write(Buffer.concat([START, frame(Type.ping, 0, 0, Buffer.from(FAULTS[name]))]));
  await once(socket.resume(), 'close');
  await gateway.printed(/"event":"connection_failed","port":"grpc".*a fault/);
  expect((await call(gateway.url, '/envoy/a')).status).toBe(200);
  expect(await gateway.stop()).toBe(0);
});

test('a fault that belongs to no connection ends the process', async () => {
  await using gateway = await startGatewayProcess({ NODE_OPTIONS: `--import=${FAULTY}` });
  gateway.signal('SIGWINCH');
  await gateway.printed(/"event":"crashed".*a fault/);
  expect(await gateway.stop()).toBe(1);
});
