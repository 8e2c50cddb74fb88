import { z } from 'zod';
import { HTTP_DIALECTS } from '../../dialects/index.ts';
import {
  HOST,
  NONE,
  PORT,
  PORT_OR_OFF,
  pathSetting,
  setting,
  switchSetting,
  text,
} from './setting.ts';

export const PROXY_PORT_SETTINGS = {
  host: setting(
    'HEADGATE_HOST',
    `Address of the check server. Proxies call it at ${HTTP_DIALECTS.map(({ mount }) => `\`${mount}\``).join(', ')}; Envoy appends the client's path. The image sets \`0.0.0.0\`.`,
    { ...HOST, fallback: '127.0.0.1' },
  ),
  port: setting(
    'HEADGATE_PORT',
    'Check server port; 0 picks a free one. `off` disables it, for a gateway that only Envoy asks over gRPC.',
    { ...PORT_OR_OFF, fallback: 8080 },
  ),
  socket: setting(
    'HEADGATE_LISTEN',
    'Unix socket of the check server, in place of host and port. Its owner and its group may connect.',
    {
      expected: 'unix: and a path; for an address, set HEADGATE_HOST and HEADGATE_PORT',
      schema: z
        .string()
        .regex(/^unix:./)
        .transform((value) => value.slice('unix:'.length)),
      ...NONE,
    },
  ),
  grpcPort: setting(
    'HEADGATE_GRPC_PORT',
    'Port on `HEADGATE_HOST` for Envoy over gRPC; 0 picks a free one, `off` disables it.',
    { ...PORT_OR_OFF, fallback: 8081, fallbackWords: '`8081`; with `HEADGATE_LISTEN` `off`' },
  ),
};

export const GRPC_TLS_SETTINGS = {
  certificate: pathSetting(
    'HEADGATE_GRPC_TLS_CERT',
    'File with the certificate of the gRPC port. headgate reads it again when it changes.',
    'none: no TLS',
  ),
  key: pathSetting('HEADGATE_GRPC_TLS_KEY', 'File with the key of that certificate.'),
  clientCa: pathSetting(
    'HEADGATE_GRPC_TLS_CLIENT_CA',
    'File with the certificates of authorities. Callers of the gRPC port need a certificate of one of them.',
    'none: callers need no certificate',
  ),
  clientName: setting(
    'HEADGATE_GRPC_TLS_CLIENT_NAME',
    'The name that the certificates of callers must have.',
    { ...text('a name'), fallback: undefined, fallbackWords: 'any' },
  ),
};

export const OPS_PORT_SETTINGS = {
  opsHost: setting(
    'HEADGATE_OPS_HOST',
    'Address of the ops server: `/livez`, `/readyz`, `/metrics` (Prometheus) and the ops API. Any address other than loopback requires `HEADGATE_ADMIN_TOKEN`.',
    { ...HOST, fallback: '127.0.0.1' },
  ),
  opsPort: setting('HEADGATE_OPS_PORT', 'Ops server port; 0 picks a free one.', {
    ...PORT,
    fallback: 9464,
  }),
  ui: switchSetting('HEADGATE_UI', 'Whether the ops server has `/ui`, a page for operators.', true),
};
