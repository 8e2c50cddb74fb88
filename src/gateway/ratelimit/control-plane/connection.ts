import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Target } from '../../config/settings/control-plane-forms.ts';
import type { ControlPlaneTls } from '../../config/settings/environment.ts';
import { readText } from '../../config/text-file.ts';

/** Finds dead peers. HTTP/2 pings must be minutes apart (see `StreamBounds`). */
const KEEP_ALIVE_MS = 20_000;

/** Connects without TLS if there are no files. Throws a FileError. */
export function openConnection(target: Target, files: ControlPlaneTls | undefined): Socket {
  const socket = files === undefined ? connect(target) : openTls(target, files);
  // Node would forget the time if it were set before the socket is connected.
  return socket.once('connect', () => socket.setKeepAlive(true, KEEP_ALIVE_MS));
}

/** Reads the files for each connection, because programs such as cert-manager replace them while the gateway runs. */
function openTls(target: Target, { ca, certificate, key, serverName }: ControlPlaneTls): Socket {
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
