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

const STARTS_AS = ['-c', '4', '-t', '1', '-d', message];
const HEADERS = ['content-type: application/grpc', 'te: trailers'].flatMap((each) => ['-H', each]);
const tablesOf = (size: number) => [
  `--header-table-size=${size}`,
  `--encoder-header-table-size=${size}`,
];
/** `-w` and `-W`: windows of a stream and of the connection, 2^N - 1 bytes. */
const SETTINGS: Readonly<Record<string, Setting>> = {
  'windows as they are by default': { args: ['-m', '100'] },
  'windows of one byte': { args: ['-m', '10', '-w', '1', '-W', '16'], calls: 100 },
  'large windows': { args: ['-m', '250', '-w', '30', '-W', '30'] },
  'no tables': { args: ['-m', '32', ...tablesOf(0)] },
  'large tables': { args: ['-m', '32', ...tablesOf(65_536)] },
};

interface Setting {
  readonly args: readonly string[];
  readonly calls?: number;
}

describe.each(['http', 'https'])('h2load over %s gets an answer to each call', (scheme) => {
  test.skipIf(program === undefined).each(Object.entries(SETTINGS))(
    'with %s',
    async (_, { calls = 1_000, args }) => {
      const isTls = scheme === 'https';
      await using gateway = await startGateway({ HEADGATE_GRPC_PORT: '0', ...(isTls && TLS) });
      const url = `${scheme}://127.0.0.1:${gateway.grpcPort}${CHECK}`;
      const h2load = startProcess(program ?? '', [
        ...STARTS_AS,
        '-n',
        `${calls}`,
        ...HEADERS,
        ...args,
        url,
      ]);
      expect(await h2load.exited()).toBe(0);
      expect(h2load.output()).toContain(
        `${calls} done, ${calls} succeeded, 0 failed, 0 errored, 0 timeout`,
      );
      expect(h2load.output()).toContain(`status codes: ${calls} 2xx`);
      expect(await metric(gateway, 'headgate_decision_duration_seconds_count')).toBe(calls);
    },
  );
});
