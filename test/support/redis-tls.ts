/** A real Redis that speaks TLS only, with a certificate of an authority that nobody else trusts. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { freePort } from './ports.ts';
import { startRedisInFolder, type TestRedis, temporaryFolder } from './redis.ts';
import { IN_MEMORY } from './redis-server.ts';

export interface TestTlsRedis extends TestRedis {
  /** The certificate of the authority, in PEM. It goes with the server. */
  readonly caFile: string;
}

export async function startTlsRedis(): Promise<TestTlsRedis> {
  const folder = temporaryFolder();
  certify(folder);
  const port = await freePort();
  const server = await startRedisInFolder(folder, port, [
    ...['--port', '0', '--tls-port', String(port), ...IN_MEMORY],
    ...['--tls-cert-file', 'server.crt', '--tls-key-file', 'server.key'],
    ...['--tls-ca-cert-file', 'ca.crt', '--tls-auth-clients', 'no'],
  ]);
  return { ...server, url: `rediss://127.0.0.1:${port}`, caFile: join(folder, 'ca.crt') };
}

/** Writes `ca.crt`, and `server.crt` with `server.key` for the names of this machine. */
function certify(folder: string): void {
  const issue = (name: string, subject: string, ...args: string[]) =>
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-days', '1', '-subj', `/CN=${subject}`],
        // Elliptic curves, because making RSA keys takes long.
        ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'],
        ...['-keyout', `${name}.key`, '-out', `${name}.crt`, ...args],
      ],
      { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
    );
  issue('ca', 'headgate tests');
  issue(
    'server',
    'localhost',
    ...['-CA', 'ca.crt', '-CAkey', 'ca.key'],
    ...['-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'],
    ...['-addext', 'basicConstraints=critical,CA:FALSE'],
  );
}
