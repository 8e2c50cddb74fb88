/** A TCP connection to the control plane, with or without TLS. */
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Target } from '../../config/settings/target.ts';
import { readText } from '../../config/text-file.ts';

/**
 * Paths of files in PEM. They are read for each connection, because programs such as cert-manager replace them while the
 * gateway runs. Envoy Gateway 1.9.1 mounts /certs/{ca.crt,tls.crt,tls.key} (internal/infrastructure/kubernetes/ratelimit/
 * resource.go), and wants TLS 1.3 and a certificate of the client (internal/crypto/cert_load.go).
 */
export interface TlsFiles {
  /** Undefined: the authorities that Node trusts. */
  readonly ca?: string | undefined;
  /** Of the client, with its key. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** The name that the control plane's certificate must have. Undefined: the host. */
  readonly serverName?: string | undefined;
}

/** Finds dead peers. HTTP/2 pings must be minutes apart (see `StreamBounds`). */
const KEEP_ALIVE_MS = 20_000;

/** Undefined files: without TLS. Throws a FileError. */
export function openConnection(target: Target, files: TlsFiles | undefined): Socket {
  const socket = files === undefined ? connect(target) : openTls(target, files);
  // Before it is connected, Node would not remember the time.
  return socket.once('connect', () => socket.setKeepAlive(true, KEEP_ALIVE_MS));
}

function openTls(target: Target, { ca, certificate, key, serverName }: TlsFiles): Socket {
  const name = serverName ?? (isIP(target.host) === 0 ? target.host : undefined);
  return connectTls({
    ...target,
    ALPNProtocols: ['h2'],
    ...(ca !== undefined && { ca: readText(ca) }),
    ...(certificate !== undefined && { cert: readText(certificate) }),
    ...(key !== undefined && { key: readText(key) }),
    ...(name !== undefined && { servername: name }),
  });
}
