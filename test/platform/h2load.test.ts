/** h2load, a client on nghttp2: many calls at once, with windows down to one byte and tables of several sizes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { startGateway } from '../support/gateway.ts';
import { CHECK, CHECK_MESSAGE, frame } from '../support/grpc-frames.ts';
import { metric } from '../support/metrics.ts';
import { startProcess } from '../support/process.ts';

const { h2load: program } = inject('programs');
const scratch = mkdtempSync(join(tmpdir(), 'headgate-h2load-'));
const message = join(scratch, 'message');
writeFileSync(message, frame(CHECK_MESSAGE));
const { certificate, key } = createAuthority(scratch).issue('gateway');
const TLS = { HEADGATE_GRPC_TLS_CERT: certificate, HEADGATE_GRPC_TLS_KEY: key };
afterAll(() => rmSync(scratch, { recursive: true }));

const CALLS = 2_000;
const STARTS_AS = ['-n', String(CALLS), '-c', '4', '-t', '1', '-d', message];
const HEADERS = ['content-type: application/grpc', 'te: trailers'].flatMap((each) => ['-H', each]);
/** `-w` and `-W`: windows of a stream and of the connection, 2^N - 1 bytes. */
const SETTINGS = {
  'windows as they are by default': ['-m', '100'],
  'windows of one byte': ['-m', '10', '-w', '1', '-W', '16'],
  'large windows': ['-m', '250', '-w', '30', '-W', '30'],
  'no tables': ['-m', '32', '--header-table-size=0', '--encoder-header-table-size=0'],
  'large tables': ['-m', '32', '--header-table-size=65536', '--encoder-header-table-size=65536'],
};

describe.each(['http', 'https'])('h2load over %s gets an answer to each call', (scheme) => {
  test.skipIf(program === undefined).each(Object.entries(SETTINGS))('with %s', async (_, args) => {
    const isTls = scheme === 'https';
    await using gateway = await startGateway({ HEADGATE_GRPC_PORT: '0', ...(isTls && TLS) });
    const url = `${scheme}://127.0.0.1:${gateway.grpcPort}${CHECK}`;
    const h2load = startProcess(program ?? '', [...STARTS_AS, ...HEADERS, ...args, url]);
    expect(await h2load.exited()).toBe(0);
    expect(h2load.output()).toContain(
      `${CALLS} done, ${CALLS} succeeded, 0 failed, 0 errored, 0 timeout`,
    );
    expect(h2load.output()).toContain(`status codes: ${CALLS} 2xx`);
    expect(await metric(gateway, 'headgate_decision_duration_seconds_count')).toBe(CALLS);
  });
});
