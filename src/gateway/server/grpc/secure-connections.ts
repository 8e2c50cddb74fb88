import { statSync } from 'node:fs';
import type { Socket } from 'node:net';
import {
  checkServerIdentity,
  createSecureContext,
  createServer,
  type TLSSocket,
  type TlsOptions,
} from 'node:tls';
import { ConfigError } from '../../config/diagnostic.ts';
import type { GrpcTls } from '../../config/settings/environment.ts';
import { readText } from '../../config/text-file.ts';
import { type ConnectionGuard, guardOfContext } from '../connection-guard.ts';

const HANDSHAKE_MS = 5_000;
/** Programs that renew certificates replace files long before the old ones expire. */
const LOOK_EVERY_MS = 30_000;

/** Calls back with each connection, once it is established. Throws a ConfigError if a file cannot be read, or is no certificate or key. */
export function secureConnections(
  tls: GrpcTls,
  onSecure: (connection: Socket, guard: ConnectionGuard) => void,
) {
  const server = createServer(
    { ...contextOf(tls), ALPNProtocols: ['h2'], handshakeTimeout: HANDSHAKE_MS },
    (connection) => {
      const guard = guardOfContext() as ConnectionGuard;
      guard.own(connection);
      if (isCaller(connection, tls)) onSecure(connection, guard);
      else connection.destroy();
    },
  );
  // The caller is wrong or gone: there is nobody to answer.
  server.on('tlsClientError', () => {});
  let known = versionOf(tls);
  const looking = setInterval(() => {
    const version = versionOf(tls);
    if (version === known) return;
    try {
      server.setSecureContext(contextOf(tls));
      known = version;
    } catch {
      // Half written: the old certificate stays, and headgate looks again.
    }
  }, LOOK_EVERY_MS).unref();
  return {
    /** Must be called in the context of the connection's guard. */
    take: (connection: Socket) => void server.emit('connection', connection),
    close: () => clearInterval(looking),
  };
}

function contextOf({ certificate, key, clientCa }: GrpcTls): TlsOptions {
  const pair = {
    cert: readText(certificate, 'it is the certificate of the gRPC port'),
    key: readText(key, 'it is the key of the gRPC port'),
  };
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new ConfigError([
      `${certificate}: is no certificate with the key ${key}: ${(error as Error).message}; correct one of the files`,
    ]);
  }
  return {
    ...pair,
    minVersion: 'TLSv1.2',
    ...(clientCa !== undefined && {
      ca: readText(clientCa, 'clients of the gRPC port need a certificate of these authorities'),
      requestCert: true,
      rejectUnauthorized: true,
    }),
  };
}

/** The authorities were checked already. */
function isCaller(connection: TLSSocket, { clientName }: GrpcTls): boolean {
  if (clientName === undefined) return true;
  return checkServerIdentity(clientName, connection.getPeerCertificate()) === undefined;
}

function versionOf({ certificate, key, clientCa }: GrpcTls): string {
  return [certificate, key, ...(clientCa === undefined ? [] : [clientCa])]
    .map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
    .join(' ');
}
