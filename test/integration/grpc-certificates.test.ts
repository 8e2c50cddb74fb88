/** The certificate of the gRPC port while it is renewed. */
import { copyFileSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { connect } from 'node:tls';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ConnectionGuard } from '../../src/gateway/server/connection-guard.ts';
import { secureConnections } from '../../src/gateway/server/grpc/secure-connections.ts';
import { createAuthority } from '../support/certificates.ts';
import { listenLocally } from '../support/local-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

const LOOK_EVERY_MS = 30_000;

let started: AsyncDisposableStack;
beforeEach(() => {
  started = new AsyncDisposableStack();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(async () => {
  vi.useRealTimers();
  await started.disposeAsync();
});

/** `serial` is that of the certificate which a caller is shown. */
async function setUp() {
  const authority = createAuthority(temporaryFolder(started));
  const inUse = authority.issue('in-use');
  const next = authority.issue('next');
  const secure = secureConnections(
    { ...inUse, clientCa: undefined, clientName: undefined },
    () => {},
  );
  started.defer(secure.close);
  const server = createServer((connection) => {
    const guard = new ConnectionGuard(connection, () => {});
    guard.enter(() => secure.take(connection));
  });
  const { port } = started.use(await listenLocally(server));
  const serial = () =>
    new Promise<string>((resolve, reject) => {
      const ca = readFileSync(authority.caFile);
      const caller = connect({ port, host: '127.0.0.1', ca, ALPNProtocols: ['h2'] });
      caller.once('error', reject).once('secureConnect', () => {
        resolve(caller.getPeerCertificate().serialNumber);
        caller.destroy();
      });
    });
  return { inUse, next, serial };
}

test('a renewed certificate is used, and one that is half written only once it is whole', async () => {
  const { inUse, next, serial } = await setUp();
  const first = await serial();
  // Programs that copy files may set their times before they are whole.
  const time = new Date(Date.now() + 60_000);
  const write = (text: string) => {
    writeFileSync(inUse.certificate, text);
    utimesSync(inUse.certificate, time, time);
  };
  const renewed = readFileSync(next.certificate, 'utf8');
  copyFileSync(next.key, inUse.key);
  write(renewed.slice(0, renewed.length / 2));
  vi.advanceTimersByTime(LOOK_EVERY_MS);
  expect(await serial()).toBe(first);
  write(renewed);
  vi.advanceTimersByTime(LOOK_EVERY_MS);
  expect(await serial()).not.toBe(first);
});

test('a certificate whose key is not there yet is not used', async () => {
  const { inUse, next, serial } = await setUp();
  const first = await serial();
  copyFileSync(next.certificate, inUse.certificate);
  vi.advanceTimersByTime(LOOK_EVERY_MS);
  expect(await serial()).toBe(first);
  copyFileSync(next.key, inUse.key);
  vi.advanceTimersByTime(LOOK_EVERY_MS);
  expect(await serial()).not.toBe(first);
});
