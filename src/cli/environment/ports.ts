import { type Given, isTrue, type Mapped, textsThatHold } from './variable.ts';

const ALL = '0.0.0.0';

export function portsOf(given: Given): Mapped {
  return {
    settings: {
      HEADGATE_HOST: given.GRPC_HOST || ALL,
      // headgate's own address is that of both ports.
      ...(!given.HEADGATE_HOST && { HEADGATE_RATELIMIT_HTTP_HOST: given.HOST || ALL }),
      // No proxy sends checks.
      HEADGATE_PORT: 'off',
      HEADGATE_GRPC_PORT: given.GRPC_PORT || '8081',
      HEADGATE_RATELIMIT_HTTP_PORT: given.PORT || '8080',
      ...opsOf(given),
      ...tlsOf(given),
    },
    notes: opsNotes(given),
    mistakes: [...addressMistakes(given), ...tlsMistakes(given)],
  };
}

function opsOf(given: Given): Record<string, string> {
  if (!hasPrometheus(given)) {
    return {
      HEADGATE_OPS_HOST: given.DEBUG_HOST || ALL,
      HEADGATE_OPS_PORT: given.DEBUG_PORT || '6070',
    };
  }
  const [, host = '', port = '9090'] = ADDRESS.exec(given.PROMETHEUS_ADDR || '') ?? [];
  return { HEADGATE_OPS_HOST: host.replace(/^\[|\]$/g, '') || ALL, HEADGATE_OPS_PORT: port };
}

const ADDRESS = /^(\[[\da-fA-F:.]+\]|[^\s:[\]]*):(\d{1,5})$/;

function addressMistakes(given: Given): string[] {
  const { PROMETHEUS_ADDR: address } = given;
  if (!hasPrometheus(given) || !address || ADDRESS.test(address)) return [];
  return [`PROMETHEUS_ADDR: must be :port or host:port, not ${JSON.stringify(address)}`];
}

function hasPrometheus({ USE_PROMETHEUS: uses, DISABLE_STATS: disables }: Given): boolean {
  return isTrue(uses) && !isTrue(disables);
}

function opsNotes(given: Given): string[] {
  const { HEADGATE_OPS_HOST, HEADGATE_OPS_PORT } = { ...opsOf(given), ...given };
  const place = `${HEADGATE_OPS_HOST}:${HEADGATE_OPS_PORT}`;
  const isMoved = hasPrometheus(given) && (given.DEBUG_HOST || given.DEBUG_PORT);
  return textsThatHold({
    [`DEBUG_HOST and DEBUG_PORT have no effect: with USE_PROMETHEUS, all is at ${place}`]: isMoved,
    [`HEADGATE_ADMIN_TOKEN is not set: ${place} shows health and metrics only; operators need it for the ops API`]:
      !given.HEADGATE_ADMIN_TOKEN,
  });
}

function tlsOf(given: Given): Record<string, string> {
  if (!isTrue(given.GRPC_SERVER_USE_TLS)) return {};
  return {
    HEADGATE_GRPC_TLS_CERT: given.GRPC_SERVER_TLS_CERT ?? '',
    HEADGATE_GRPC_TLS_KEY: given.GRPC_SERVER_TLS_KEY ?? '',
    HEADGATE_GRPC_TLS_CLIENT_CA: given.GRPC_CLIENT_TLS_CACERT ?? '',
    HEADGATE_GRPC_TLS_CLIENT_NAME: given.GRPC_CLIENT_TLS_SAN ?? '',
  };
}

/** Without its files, the port would be open without TLS. */
function tlsMistakes(given: Given): string[] {
  if (!isTrue(given.GRPC_SERVER_USE_TLS)) return [];
  const missing = (name: string, ours: string) => !given[name] && !given[ours];
  const noAuthority = missing('GRPC_CLIENT_TLS_CACERT', 'HEADGATE_GRPC_TLS_CLIENT_CA');
  return textsThatHold({
    'GRPC_SERVER_TLS_CERT: is not set; GRPC_SERVER_USE_TLS needs the file of a certificate':
      missing('GRPC_SERVER_TLS_CERT', 'HEADGATE_GRPC_TLS_CERT'),
    'GRPC_SERVER_TLS_KEY: is not set; GRPC_SERVER_USE_TLS needs the key of the certificate':
      missing('GRPC_SERVER_TLS_KEY', 'HEADGATE_GRPC_TLS_KEY'),
    'GRPC_CLIENT_TLS_CACERT: is not set; GRPC_CLIENT_TLS_SAN needs the authority of the clients':
      given.GRPC_CLIENT_TLS_SAN && noAuthority,
  });
}
