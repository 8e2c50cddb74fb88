import { z } from 'zod';
import { HTTP_DIALECTS } from '../../dialects/index.ts';
import { pathSetting, port, portOrOff, setting, switchSetting, unixSocket } from './setting.ts';

export const PROXY_PORT_SETTINGS = {
  host: setting({
    name: 'HEADGATE_HOST',
    topic: 'places',
    meaning: `Address of the check server. Proxies call it at ${HTTP_DIALECTS.map(({ mount }) => `\`${mount}\``).join(', ')}; Envoy appends the client's path. The image sets \`0.0.0.0\`.`,
    expected: 'a host',
    schema: z.string(),
    fallback: '127.0.0.1',
  }),
  port: setting({
    name: 'HEADGATE_PORT',
    topic: 'places',
    meaning:
      'Check server port; 0 picks a free one. `off` disables it, for a gateway that only Envoy asks over gRPC.',
    expected: 'a port from 0 to 65535, or off',
    schema: portOrOff,
    fallback: 8080,
  }),
  socket: setting({
    name: 'HEADGATE_LISTEN',
    topic: 'places',
    meaning:
      'Unix socket of the check server, in place of host and port. Its owner and its group may connect.',
    expected: 'unix: and a path; for an address, set HEADGATE_HOST and HEADGATE_PORT',
    schema: unixSocket,
    fallback: undefined,
    fallbackWords: 'none',
  }),
  grpcPort: setting({
    name: 'HEADGATE_GRPC_PORT',
    topic: 'places',
    meaning: 'Port on `HEADGATE_HOST` for Envoy over gRPC; 0 picks a free one, `off` disables it.',
    expected: 'a port from 0 to 65535, or off',
    schema: portOrOff,
    fallback: 8081,
    fallbackWords: '`8081`; with `HEADGATE_LISTEN` `off`',
  }),
};

function path(name: string, meaning: string, fallbackWords = 'none') {
  return pathSetting({ name, meaning, fallbackWords, topic: 'places' });
}

export const GRPC_TLS_SETTINGS = {
  certificate: path(
    'HEADGATE_GRPC_TLS_CERT',
    'File with the certificate of the gRPC port. headgate reads it again when it changes.',
    'none: no TLS',
  ),
  key: path('HEADGATE_GRPC_TLS_KEY', 'File with the key of that certificate.'),
  clientCa: path(
    'HEADGATE_GRPC_TLS_CLIENT_CA',
    'File with the certificates of authorities. Callers of the gRPC port need a certificate of one of them.',
    'none: callers need no certificate',
  ),
  clientName: setting({
    name: 'HEADGATE_GRPC_TLS_CLIENT_NAME',
    topic: 'places',
    meaning: 'The name that the certificates of callers must have.',
    expected: 'a name',
    schema: z.string(),
    fallback: undefined,
    fallbackWords: 'any',
  }),
};

export const OPS_PORT_SETTINGS = {
  opsHost: setting({
    name: 'HEADGATE_OPS_HOST',
    topic: 'places',
    meaning:
      'Address of the ops server: `/livez`, `/readyz`, `/metrics` (Prometheus) and the ops API. Any address other than loopback requires `HEADGATE_ADMIN_TOKEN`.',
    expected: 'a host',
    schema: z.string(),
    fallback: '127.0.0.1',
  }),
  opsPort: setting({
    name: 'HEADGATE_OPS_PORT',
    topic: 'places',
    meaning: 'Ops server port; 0 picks a free one.',
    expected: 'a port from 0 to 65535',
    schema: port,
    fallback: 9464,
  }),
  ui: switchSetting({
    name: 'HEADGATE_UI',
    topic: 'places',
    meaning: 'Whether the ops server has `/ui`, a page for operators.',
    fallback: true,
  }),
};
