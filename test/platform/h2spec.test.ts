/**
 * h2spec, the conformance suite of HTTP/2 (github.com/summerwind/h2spec): valid and broken frames in many orders. All its
 * expectations hold for the HTTP/2 server of the gRPC port behind which each answer has a body, as many of them need one.
 * The gateway itself answers 415 to its requests, and must live through all of it.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { type GatewayProcess, PATIENT, startGatewayProcess } from '../support/gateway.ts';
import { connectGrpc, envoyCheckRequest, type GrpcClient } from '../support/grpc-client.ts';
import { outcome } from '../support/grpc-outcomes.ts';
import { call } from '../support/http.ts';
import { startProcess } from '../support/process.ts';
import { startRedis, testWithRedis } from '../support/redis.ts';
import { startEchoServer } from './support/http2-echo.ts';
import { workersOf } from './support/workers.ts';

const { h2spec: program } = inject('programs');
const TESTS = 146;
/** Also for a connection, which a busy machine delays. Most of its tests end at once. */
const TEST_TIMEOUT_SECONDS = 4;
/** If all of them waited that long. */
const ENDS_WITHIN_MS = TESTS * TEST_TIMEOUT_SECONDS * 1_000;
const LONG = { timeout: ENDS_WITHIN_MS + 60_000 };
const ALL_PASSED: Verdicts = { run: TESTS, failed: [], skipped: [] };
const ALIVE = { crashes: [], check: 200, http: 200 };

const scratch = mkdtempSync(join(tmpdir(), 'headgate-h2spec-'));
afterAll(() => rmSync(scratch, { recursive: true }));

describe.skipIf(program === undefined)('h2spec ends neither the process nor a worker', () => {
  test.concurrent('over clear text', LONG, async () => {
    await using gateway = await startGatewayProcess({ HEADGATE_GRPC_PORT: '0' });
    expect(await run(gateway)).toBe(TESTS);
    using client = connectGrpc(gateway.grpcPort);
    expect(await stateOf(gateway, client)).toEqual(ALIVE);
  });

  test.concurrent('over TLS', LONG, async () => {
    const { caFile, issue } = createAuthority(scratch);
    const { certificate, key } = issue('gateway');
    await using gateway = await startGatewayProcess({
      HEADGATE_GRPC_PORT: '0',
      HEADGATE_GRPC_TLS_CERT: certificate,
      HEADGATE_GRPC_TLS_KEY: key,
    });
    expect(await run(gateway, '--tls', '--insecure')).toBe(TESTS);
    using client = connectGrpc(
      gateway.grpcPort,
      { 'grpc.ssl_target_name_override': 'localhost' },
      credentials.createSsl(readFileSync(caFile)),
    );
    expect(await stateOf(gateway, client)).toEqual(ALIVE);
  });

  testWithRedis('with two workers', LONG, async () => {
    await using redis = await startRedis();
    await using gateway = await startGatewayProcess({
      ...PATIENT,
      HEADGATE_GRPC_PORT: '0',
      HEADGATE_WORKERS: '2',
      HEADGATE_REDIS_URL: redis.url,
    });
    const workers = await workersOf(gateway);
    expect(await run(gateway)).toBe(TESTS);
    using client = connectGrpc(gateway.grpcPort);
    expect(await stateOf(gateway, client)).toEqual(ALIVE);
    expect(await workersOf(gateway)).toEqual(workers);
  });
});

describe.skipIf(program === undefined)('all expectations of h2spec hold', () => {
  test.concurrent('over clear text', LONG, async () => {
    await using echo = await startEchoServer();
    expect(await verdicts(echo.port)).toEqual(ALL_PASSED);
    expect(echo).toMatchObject({ faults: [], openStreams: 0 });
  });

  test.concurrent('over TLS', LONG, async () => {
    const { certificate, key } = createAuthority(scratch, 'echo-ca').issue('echo');
    const tls = { cert: readFileSync(certificate), key: readFileSync(key) };
    await using echo = await startEchoServer(tls);
    expect(await verdicts(echo.port, '--tls', '--insecure')).toEqual(ALL_PASSED);
    expect(echo).toMatchObject({ faults: [], openStreams: 0 });
  });
});

/** Resolves to the number of its tests that were run. */
async function run({ grpcPort }: GatewayProcess, ...args: string[]): Promise<number> {
  return (await verdicts(grpcPort, ...args)).run;
}

/** Names what failed and what was skipped. */
async function verdicts(port: number, ...args: string[]): Promise<Verdicts> {
  const report = join(scratch, `${port}.xml`);
  const place = ['--host', '127.0.0.1', '--port', String(port)];
  const wanted = ['--strict', '--timeout', String(TEST_TIMEOUT_SECONDS), '--junit-report', report];
  const h2spec = startProcess(program ?? '', [...place, ...wanted, ...args]);
  const timer = setTimeout(() => h2spec.signal('SIGKILL'), ENDS_WITHIN_MS);
  await h2spec.exited();
  clearTimeout(timer);
  // It writes the report at its end.
  const cases = existsSync(report) ? readFileSync(report, 'utf8').split('<testcase ').slice(1) : [];
  const named = (element: RegExp) =>
    cases.filter((each) => element.test(each)).map((each) => each.split('>')[0] ?? '');
  return { run: cases.length, failed: named(/<(?:failure|error)/), skipped: named(/<skipped/) };
}

interface Verdicts {
  readonly run: number;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
}

async function stateOf(gateway: GatewayProcess, client: GrpcClient) {
  return {
    crashes: gateway.output().match(/.*"event":"(?:crashed|worker_lost)".*/g) ?? [],
    check: outcome(await client.check(envoyCheckRequest())),
    http: (await call(gateway.url, '/envoy/a')).status,
  };
}
