/** What a gateway that is well answers: probes, and checks of proxies over HTTP and gRPC. */
import { connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHECK, CHECK_MESSAGE, frame } from '../../test/support/grpc-frames.ts';
import type { Place } from './drive.ts';
import type { Gateway } from './gateway.ts';

/** Much longer than an answer takes on a machine that is busy with other things: after this, the gateway hangs. */
const HANGS_AFTER_MS = 120_000;
/** For one attempt. */
const WITHIN_MS = 20_000;
const RETRY_AFTER_MS = 200;

/**
 * Resolves to what is wrong, or to undefined. Never rejects. Tries again for a while: a gateway that has too few turns of
 * the processor closes the connections that wait longest, which may be these.
 */
export async function ordinaryMistake(gateway: Gateway): Promise<string | undefined> {
  const untilMs = performance.now() + HANGS_AFTER_MS;
  for (;;) {
    const mistake = await mistakeAtOnce(gateway);
    if (mistake === undefined || gateway.crashes.length > 0) return mistake;
    if (performance.now() > untilMs) return mistake;
    await sleep(RETRY_AFTER_MS);
  }
}

async function mistakeAtOnce({ places }: Gateway): Promise<string | undefined> {
  const found = await Promise.all([
    httpMistake(`http://127.0.0.1:${places.ops.port}/livez`),
    httpMistake(`http://127.0.0.1:${places.check.port}/envoy/a`),
    grpcMistake(places.grpc),
  ]);
  return found.find((each) => each !== undefined);
}

async function httpMistake(url: string): Promise<string | undefined> {
  const headers = { 'x-headgate-client-ip': '192.0.2.7', connection: 'close' };
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(WITHIN_MS) });
    await response.arrayBuffer();
    return [200, 429].includes(response.status)
      ? undefined
      : `${url} answered ${response.status} to an ordinary request`;
  } catch (error) {
    return `${url} did not answer an ordinary request: ${causeOf(error)}`;
  }
}

async function grpcMistake({ port, hasTls }: Place): Promise<string | undefined> {
  const session = connect(`${hasTls ? 'https' : 'http'}://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
    servername: 'localhost',
  });
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const fail = (why: string) => resolve(`the gRPC port did not answer an ordinary check: ${why}`);
  session.on('error', (error) => fail(error.message)).on('close', () => fail('connection closed'));
  const stream = session.request({
    ':method': 'POST',
    ':path': CHECK,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', (error) => fail(error.message)).on('close', () => fail('stream closed'));
  stream.on('trailers', ({ 'grpc-status': status }) => {
    if (status === '0') resolve(undefined);
    else fail(`status ${status}`);
  });
  stream.on('response', ({ 'grpc-status': status = '0' }) => {
    if (status !== '0') fail(`status ${status}`);
  });
  stream.resume().end(frame(CHECK_MESSAGE));
  const timer = setTimeout(() => fail(`nothing came within ${WITHIN_MS} ms`), WITHIN_MS);
  const mistake = await promise;
  clearTimeout(timer);
  session.destroy();
  return mistake;
}

/** The sums of the metrics that count what must not happen, by their names. */
export async function faultsOf({ places }: Gateway): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`http://127.0.0.1:${places.ops.port}/metrics`, {
    signal: AbortSignal.timeout(HANGS_AFTER_MS),
  });
  const sums = new Map<string, number>();
  for (const line of (await response.text()).split('\n')) {
    const [, name, value] = COUNTED.exec(line) ?? [];
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}

const COUNTED = /^(headgate_\w*(?:faults|workers_lost)_total)(?:\{.*\})? (\S+)$/;

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
