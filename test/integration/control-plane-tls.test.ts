/** The connection to a control plane with TLS, as Envoy Gateway wants it: both sides show a certificate. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Authority, createAuthority, type IssuedFiles } from '../support/certificates.ts';
import {
  type ControlPlane,
  limits,
  resourceOf,
  startControlPlane,
} from '../support/control-plane.ts';
import { waitUntil } from '../support/eventually.ts';
import { startSubscriber } from '../support/subscriber.ts';

let folder: string;
let trusted: Authority;
let client: IssuedFiles;
let plane: ControlPlane;

function credentials(server: IssuedFiles): ServerCredentials {
  const [private_key, cert_chain] = [readFileSync(server.key), readFileSync(server.certificate)];
  return ServerCredentials.createSsl(
    readFileSync(trusted.caFile),
    [{ private_key, cert_chain }],
    true,
  );
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-control-plane-'));
  trusted = createAuthority(folder);
  client = trusted.issue('client', 'DNS:client');
  plane = await startControlPlane({
    credentials: credentials(trusted.issue('server', 'DNS:envoy-gateway,DNS:localhost')),
  });
  plane.serve('1', [resourceOf(limits('shop', 3))]);
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

test('gets the configuration from a server with the host’s name', async () => {
  const tls = { ca: trusted.caFile, ...client };
  using subscriber = startSubscriber({ port: plane.port, host: 'localhost', tls });
  await subscriber.event('applied 1');
  expect(subscriber.events).toEqual(['connected', 'applied 1']);
});

test('gets the configuration from a server with another name, if that is set', async () => {
  const tls = { ca: trusted.caFile, ...client, serverName: 'envoy-gateway' };
  using subscriber = startSubscriber({ port: plane.port, tls });
  await subscriber.event('applied 1');
});

test.each([
  [
    'has another name',
    { serverName: 'envoy-gateway.example' },
    /does not match certificate's altnames/,
  ],
  [
    'has no name like its address',
    { serverName: undefined },
    /does not match certificate's altnames/,
  ],
])('refuses a server that %s', async (_, { serverName }, reason) => {
  const tls = { ca: trusted.caFile, ...client, serverName };
  using subscriber = startSubscriber({ port: plane.port, tls });
  expect(await subscriber.event('disconnected', 2)).toMatch(reason);
  expect(subscriber.events).not.toContain('connected');
});

test('refuses a server of another authority', async () => {
  const other = createAuthority(folder, 'other-ca');
  for (const ca of [other.caFile, undefined]) {
    const tls = { ca, ...client };
    using subscriber = startSubscriber({ port: plane.port, host: 'localhost', tls });
    expect(await subscriber.event('disconnected', 2)).toMatch(/unable to (verify|get)|self-signed/);
    expect(subscriber.offered).toEqual([]);
  }
});

test('is refused without a certificate, and reports it', async () => {
  const tls = { ca: trusted.caFile };
  using subscriber = startSubscriber({ port: plane.port, host: 'localhost', tls });
  const reason = await subscriber.event('disconnected', 2);
  expect(reason).toBe('disconnected: tlsv13 alert certificate required');
  expect(subscriber.offered).toEqual([]);
});

test('reports files that do not exist, and reads those that are replaced', async () => {
  const certificate = join(folder, 'mounted.crt');
  const key = join(folder, 'mounted.key');
  const tls = { ca: trusted.caFile, certificate, key };
  using subscriber = startSubscriber({ port: plane.port, host: 'localhost', tls });
  const missing = await subscriber.event('disconnected');
  expect(missing).toContain('mounted.crt');
  expect(missing).toContain('does not exist');

  const stranger = createAuthority(folder, 'stranger-ca').issue('stranger');
  copyFileSync(stranger.certificate, certificate);
  copyFileSync(stranger.key, key);
  const last = () => subscriber.events.at(-1) ?? '';
  await waitUntil('they are read', async () => !last().includes('does not exist'));
  expect(subscriber.offered).toEqual([]);

  copyFileSync(client.certificate, certificate);
  copyFileSync(client.key, key);
  await subscriber.event('applied 1');
});

test('a control plane without TLS is refused', async () => {
  await using plain = await startControlPlane();
  const tls = { ca: trusted.caFile, ...client };
  using subscriber = startSubscriber({ port: plain.port, host: 'localhost', tls });
  await subscriber.event('disconnected', 2);
  expect(subscriber.events).not.toContain('connected');
  expect(plain.requests).toEqual([]);
});

test('a control plane with TLS is not reached without', async () => {
  using subscriber = startSubscriber({ port: plane.port, host: 'localhost' });
  await subscriber.event('disconnected', 2);
  expect(subscriber.offered).toEqual([]);
});
