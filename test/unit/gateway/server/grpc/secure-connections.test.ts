/** Who may connect over TLS, and with which certificate the gateway answers. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ConfigError } from '../../../../../src/gateway/config/diagnostic.ts';
import type { GrpcTls } from '../../../../../src/gateway/config/settings/environment.ts';
import { ConnectionGuard } from '../../../../../src/gateway/server/connection-guard.ts';
import { secureConnections } from '../../../../../src/gateway/server/grpc/secure-connections.ts';
import { createAuthority, type IssuedFiles } from '../../../../support/certificates.ts';
import { listenLocally } from '../../../../support/local-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-secure-'));
const ca = createAuthority(folder);
const gateway = ca.issue('gateway');
const renewed = ca.issue('renewed');
const envoy = ca.issue('envoy', 'DNS:envoy.mesh');
const stranger = createAuthority(folder, 'other').issue('stranger', 'DNS:envoy.mesh');
afterAll(() => rmSync(folder, { recursive: true }));

let started: AsyncDisposableStack;
let secured: string[];
beforeEach(() => {
  started = new AsyncDisposableStack();
  secured = [];
});
afterEach(async () => {
  vi.useRealTimers();
  await started.disposeAsync();
});

async function start(tls: Partial<GrpcTls>) {
  const secure = secureConnections(
    { ...gateway, clientCa: undefined, clientName: undefined, ...tls },
    (connection, guard) => {
      secured.push(guard.connection.constructor.name);
      connection.end('secured');
    },
  );
  started.defer(() => secure.close());
  const listener = createServer((connection) => {
    const guard = new ConnectionGuard(connection, (error) => secured.push(String(error)));
    guard.enter(() => secure.take(connection));
  });
  const { port } = started.use(await listenLocally(listener));
  return (files?: IssuedFiles, options: ConnectionOptions = {}) => {
    const pair = files && {
      cert: readFileSync(files.certificate),
      key: readFileSync(files.key),
    };
    const authorities = readFileSync(ca.caFile);
    return outcomeOf(
      connect({
        ...{ port, host: '127.0.0.1', ca: authorities },
        ...pair,
        ALPNProtocols: ['h2'],
        ...options,
      }),
    );
  };
}

/** What the caller reads until the end, and the certificate that it saw. */
async function outcomeOf(connection: TLSSocket) {
  let read = '';
  let serial = '';
  connection.on('error', () => {});
  connection.on('secureConnect', () => {
    serial = connection.getPeerCertificate().serialNumber;
  });
  connection.on('data', (chunk: Buffer) => {
    read += chunk;
  });
  const closed = once(connection, 'close').catch(() => {});
  await closed;
  return { read, serial, protocol: connection.alpnProtocol };
}

const serialOf = ({ certificate }: IssuedFiles) =>
  execFileSync('openssl', ['x509', '-in', certificate, '-noout', '-serial'], { encoding: 'utf8' })
    .trim()
    .replace('serial=', '');

describe('without authorities of callers', () => {
  test('every caller is let in, over HTTP/2', async () => {
    const call = await start({});
    const { read, serial, protocol } = await call();
    expect([read, serial, protocol]).toEqual(['secured', serialOf(gateway), 'h2']);
    expect(secured).toEqual(['Socket']);
  });

  test('TLS 1.2 is spoken, and nothing older', async () => {
    const call = await start({});
    expect((await call(undefined, { maxVersion: 'TLSv1.2' })).read).toBe('secured');
    const older = {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'ALL:@SECLEVEL=0',
    } as const;
    expect((await call(undefined, older)).read).toBe('');
    expect(secured).toHaveLength(1);
  });
});

describe('with an authority of callers', () => {
  test('a certificate of it is needed', async () => {
    const call = await start({ clientCa: ca.caFile });
    const reads = [await call(), await call(stranger), await call(envoy), await call(renewed)];
    expect(reads.map(({ read }) => read)).toEqual(['', '', 'secured', 'secured']);
    expect(secured).toEqual(['Socket', 'Socket']);
  });

  test('and a name, the certificate must be for that name', async () => {
    const call = await start({ clientCa: ca.caFile, clientName: 'envoy.mesh' });
    const reads = [await call(renewed), await call(envoy), await call(stranger)];
    expect(reads.map(({ read }) => read)).toEqual(['', 'secured', '']);
    expect(secured).toEqual(['Socket']);
  });
});

describe('a file', () => {
  const open = (tls: Partial<GrpcTls>) => () =>
    secureConnections({ ...gateway, clientCa: undefined, clientName: undefined, ...tls }, () => {});
  const missing = join(folder, 'missing');

  test.each<[string, Partial<GrpcTls>]>([
    ['it is the certificate of the gRPC port', { certificate: missing }],
    ['it is the key of the gRPC port', { key: missing }],
    ['clients of the gRPC port need a certificate of these authorities', { clientCa: missing }],
  ])('that is missing is named with its use: %s', (use, tls) => {
    expect(open(tls)).toThrow(ConfigError);
    expect(open(tls)).toThrow(missing);
    expect(open(tls)).toThrow(use);
  });

  test('with another key is named with it', () => {
    const wrong = open({ key: envoy.key });
    expect(wrong).toThrow(ConfigError);
    expect(wrong).toThrow(`${gateway.certificate}: is no certificate with the key ${envoy.key}: `);
  });
});

test('a certificate that is renewed is used within half a minute, and one that is half written is not', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const files = { certificate: join(folder, 'live.crt'), key: join(folder, 'live.key') };
  let version = 1_000;
  const write = (certificate: string | Buffer, key: string | Buffer) => {
    writeFileSync(files.certificate, certificate);
    writeFileSync(files.key, key);
    for (const file of Object.values(files)) utimesSync(file, version, version);
    version++;
  };
  const contents = (issued: IssuedFiles) =>
    [readFileSync(issued.certificate), readFileSync(issued.key)] as const;
  write(...contents(gateway));
  const call = await start(files);
  const seen = async () => (await call()).serial;
  expect(await seen()).toBe(serialOf(gateway));
  write('-----BEGIN', readFileSync(renewed.key));
  vi.advanceTimersByTime(30_000);
  expect(await seen()).toBe(serialOf(gateway));
  write(...contents(renewed));
  vi.advanceTimersByTime(29_999);
  expect(await seen()).toBe(serialOf(gateway));
  vi.advanceTimersByTime(1);
  expect(await seen()).toBe(serialOf(renewed));
});
