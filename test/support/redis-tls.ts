/** A real Redis that speaks TLS only, with a certificate of an authority that nobody else trusts. */
import { join } from 'node:path';
import { createAuthority, type IssuedFiles } from './certificates.ts';
import { freePort } from './ports.ts';
import { startRedisInFolder, type TestRedis, temporaryFolder } from './redis.ts';
import { IN_MEMORY } from './redis-server.ts';

export interface TestTlsRedis extends TestRedis {
  /** The certificate of the authority, in PEM. It goes with the server. */
  readonly caFile: string;
  /** Writes a certificate for a client. */
  issue(name: string): IssuedFiles;
}

export interface TlsRedisOptions {
  /** Whether clients must show a certificate of the authority. Default: no. */
  readonly authClients?: 'yes' | 'no';
}

export async function startTlsRedis({
  authClients = 'no',
}: TlsRedisOptions = {}): Promise<TestTlsRedis> {
  const folder = temporaryFolder();
  const authority = createAuthority(folder);
  authority.issue('server');
  const port = await freePort();
  const server = await startRedisInFolder(folder, port, [
    ...['--port', '0', '--tls-port', String(port), ...IN_MEMORY],
    ...['--tls-cert-file', 'server.crt', '--tls-key-file', 'server.key'],
    ...['--tls-ca-cert-file', 'ca.crt', '--tls-auth-clients', authClients],
  ]);
  return {
    ...server,
    url: `rediss://127.0.0.1:${port}`,
    caFile: join(folder, 'ca.crt'),
    issue: (name) => authority.issue(name, `DNS:${name}`),
  };
}
