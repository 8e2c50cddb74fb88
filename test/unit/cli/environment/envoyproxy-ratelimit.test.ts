import { describe, expect, test } from 'vitest';
import { type DropIn, dropInFor } from '../../../../src/cli/environment/variables.ts';
import { ConfigError } from '../../../../src/gateway/config/diagnostic.ts';
import { readEnvironment } from '../../../../src/gateway/config/settings/environment.ts';

/** Every variable of envoyproxy/ratelimit: the names in src/settings/settings.go at commit f2fb157. */
const THEIRS = `
HOST PORT DEBUG_HOST DEBUG_PORT GRPC_UDS GRPC_HOST GRPC_PORT GRPC_MAX_CONNECTION_AGE
GRPC_MAX_CONNECTION_AGE_GRACE GRPC_SERVER_USE_TLS GRPC_SERVER_TLS_CERT GRPC_SERVER_TLS_KEY
GRPC_CLIENT_TLS_CACERT GRPC_CLIENT_TLS_SAN LOG_LEVEL LOG_FORMAT CONFIG_TYPE
FORCE_START_WITHOUT_INITIAL_CONFIG CONFIG_GRPC_XDS_NODE_ID CONFIG_GRPC_XDS_NODE_METADATA
CONFIG_GRPC_XDS_SERVER_URL CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL
CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS CONFIG_GRPC_XDS_SERVER_USE_TLS CONFIG_GRPC_XDS_CLIENT_TLS_CERT
CONFIG_GRPC_XDS_CLIENT_TLS_KEY CONFIG_GRPC_XDS_SERVER_TLS_CACERT CONFIG_GRPC_XDS_SERVER_TLS_SAN
XDS_CLIENT_BACKOFF_INITIAL_INTERVAL XDS_CLIENT_BACKOFF_MAX_INTERVAL XDS_CLIENT_BACKOFF_RANDOM_FACTOR
XDS_CLIENT_BACKOFF_JITTER XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES USE_DOG_STATSD USE_DOG_STATSD_MOGRIFIERS
USE_STATSD STATSD_HOST STATSD_PORT EXTRA_TAGS STATS_FLUSH_INTERVAL DISABLE_STATS USE_PROMETHEUS
PROMETHEUS_ADDR PROMETHEUS_PATH PROMETHEUS_MAPPER_YAML PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS RUNTIME_ROOT
RUNTIME_SUBDIRECTORY RUNTIME_APPDIRECTORY RUNTIME_IGNOREDOTFILES RUNTIME_WATCH_ROOT
EXPIRATION_JITTER_MAX_SECONDS LOCAL_CACHE_SIZE_IN_BYTES NEAR_LIMIT_RATIO CACHE_KEY_PREFIX BACKEND_TYPE
STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT LIMIT_RESPONSE_HEADERS_ENABLED LIMIT_LIMIT_HEADER
LIMIT_REMAINING_HEADER LIMIT_RESET_HEADER HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED REDIS_SOCKET_TYPE
REDIS_TYPE REDIS_URL REDIS_POOL_SIZE REDIS_AUTH REDIS_TLS REDIS_TLS_CLIENT_CERT REDIS_TLS_CLIENT_KEY
REDIS_TLS_CACERT REDIS_TLS_SKIP_HOSTNAME_VERIFICATION REDIS_PIPELINE_WINDOW REDIS_PIPELINE_LIMIT
REDIS_CLUSTER_PIPELINE_PARALLELISM REDIS_PERSECOND REDIS_PERSECOND_SOCKET_TYPE REDIS_PERSECOND_TYPE
REDIS_PERSECOND_URL REDIS_PERSECOND_POOL_SIZE REDIS_PERSECOND_AUTH REDIS_PERSECOND_TLS REDIS_SENTINEL_AUTH
REDIS_PERSECOND_SENTINEL_AUTH REDIS_PERSECOND_PIPELINE_WINDOW REDIS_PERSECOND_PIPELINE_LIMIT
REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM REDIS_HEALTH_CHECK_ACTIVE_CONNECTION REDIS_TIMEOUT
REDIS_PERSECOND_TIMEOUT REDIS_POOL_ON_EMPTY_BEHAVIOR REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR
REDIS_STARTUP_INITIAL_INTERVAL REDIS_STARTUP_MAX_INTERVAL REDIS_STARTUP_MAX_ELAPSED_TIME MEMCACHE_HOST_PORT
MEMCACHE_MAX_IDLE_CONNS MEMCACHE_SRV MEMCACHE_SRV_REFRESH MEMCACHE_TLS MEMCACHE_TLS_CLIENT_CERT
MEMCACHE_TLS_CLIENT_KEY MEMCACHE_TLS_CACERT MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION SHADOW_MODE QUOTA_MODE
RESPONSE_DYNAMIC_METADATA MERGE_DOMAIN_CONFIG TRACING_ENABLED TRACING_SERVICE_NAME TRACING_SERVICE_NAMESPACE
TRACING_SERVICE_INSTANCE_ID TRACING_EXPORTER_PROTOCOL TRACING_SAMPLING_RATE
`
  .trim()
  .split(/\s+/);

/** Without notes. */
const QUIET = {
  HEADGATE_ADMIN_TOKEN: 'a-token-of-operators',
  REDIS_URL: 'redis:6379',
};
const settingsFor = (given: object) => dropInFor({ ...QUIET, ...given }).variables;
const notesFor = (given: object) => dropInFor({ ...QUIET, ...given }).notes;
const read = (given: object) => readEnvironment(settingsFor(given));
function mistakesFor(given: object): readonly string[] {
  try {
    dropInFor({ ...QUIET, ...given });
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}
const TLS = {
  GRPC_SERVER_USE_TLS: 'true',
  GRPC_SERVER_TLS_CERT: '/tls/server.crt',
  GRPC_SERVER_TLS_KEY: '/tls/server.key',
};

test('without variables, the places are theirs', () => {
  const environment = readEnvironment(dropInFor({}).variables);
  expect(environment).toMatchObject({
    host: '0.0.0.0',
    port: undefined,
    grpcPort: 8081,
    opsHost: '0.0.0.0',
    opsPort: 6070,
    policies: expect.stringMatching(/config\/ratelimit-only\.yaml$/),
    rateLimit: {
      config: '/srv/runtime_data/current/config',
      controlPlane: undefined,
      httpPort: 8080,
      windows: 'sliding',
      mergesDomains: false,
      headers: undefined,
      hasMetadata: false,
      isShadow: false,
      isQuota: false,
    },
  });
  expect([environment.grpcTls, environment.redis]).toEqual([undefined, undefined]);
});

test('says what no variable asked for: counts in memory, and an ops API without a token', () => {
  expect(dropInFor({}).notes).toEqual([
    'HEADGATE_ADMIN_TOKEN is not set: 0.0.0.0:6070 shows health and metrics only; operators need it for the ops API',
    'REDIS_URL is not set: this gateway counts in its own memory',
  ]);
  expect(notesFor({})).toEqual([]);
});

test('without a token of the operators, each start has a secret one', () => {
  const tokens = [1, 2].map(() => dropInFor({}).variables.HEADGATE_ADMIN_TOKEN ?? '');
  expect(new Set(tokens).size).toBe(2);
  for (const token of tokens) expect(token).toMatch(/^[\w-]{32}$/);
});

describe('what is mapped', () => {
  test.each<[object, object]>([
    [
      { PORT: '18080', GRPC_PORT: '18081' },
      { grpcPort: 18081, rateLimit: { httpPort: 18080 } },
    ],
    [{ GRPC_HOST: '10.0.0.1' }, { host: '10.0.0.1', rateLimit: { httpHost: '0.0.0.0' } }],
    [{ HOST: '127.0.0.1' }, { host: '0.0.0.0', rateLimit: { httpHost: '127.0.0.1' } }],
    [
      { HOST: '10.0.0.1', GRPC_HOST: '10.0.0.2' },
      { host: '10.0.0.2', rateLimit: { httpHost: '10.0.0.1' } },
    ],
    [
      { DEBUG_HOST: '127.0.0.1', DEBUG_PORT: '7' },
      { opsHost: '127.0.0.1', opsPort: 7 },
    ],
    [{ USE_PROMETHEUS: 'true' }, { opsHost: '0.0.0.0', opsPort: 9090 }],
    [
      { USE_PROMETHEUS: 'true', PROMETHEUS_ADDR: ':19001' },
      { opsHost: '0.0.0.0', opsPort: 19001 },
    ],
    [
      { USE_PROMETHEUS: 'true', PROMETHEUS_ADDR: '[::1]:9' },
      { opsHost: '::1', opsPort: 9 },
    ],
    [{ USE_PROMETHEUS: 'true', DISABLE_STATS: 'true' }, { opsPort: 6070 }],
    [{ PROMETHEUS_ADDR: ':19001' }, { opsPort: 6070 }],
    [
      { RUNTIME_ROOT: '/data', RUNTIME_SUBDIRECTORY: 'ratelimit', RUNTIME_APPDIRECTORY: 'limits' },
      { rateLimit: { config: '/data/ratelimit/limits' } },
    ],
    [{ MERGE_DOMAIN_CONFIG: 'true' }, { rateLimit: { mergesDomains: true } }],
    [{ SHADOW_MODE: 'true' }, { rateLimit: { isShadow: true } }],
    [{ QUOTA_MODE: 'true' }, { rateLimit: { isQuota: true } }],
    [{ RESPONSE_DYNAMIC_METADATA: 'true' }, { rateLimit: { hasMetadata: true } }],
    [
      { LIMIT_RESPONSE_HEADERS_ENABLED: 'true', LIMIT_RESET_HEADER: 'x-reset' },
      {
        rateLimit: {
          headers: { limit: 'RateLimit-Limit', remaining: 'RateLimit-Remaining', reset: 'x-reset' },
        },
      },
    ],
    [
      {
        LIMIT_RESPONSE_HEADERS_ENABLED: 'true',
        LIMIT_LIMIT_HEADER: 'x-limit',
        LIMIT_REMAINING_HEADER: 'x-left',
      },
      { rateLimit: { headers: { limit: 'x-limit', remaining: 'x-left' } } },
    ],
    [{ LIMIT_LIMIT_HEADER: 'x-limit' }, { rateLimit: { headers: undefined } }],
    [{ LOG_LEVEL: 'WARNING' }, { logLevel: 'warn' }],
    [{ LOG_LEVEL: 'panic' }, { logLevel: 'fatal' }],
    [
      TLS,
      {
        grpcTls: {
          certificate: '/tls/server.crt',
          key: '/tls/server.key',
          clientCa: undefined,
          clientName: undefined,
        },
      },
    ],
    [
      { ...TLS, GRPC_CLIENT_TLS_CACERT: '/tls/ca.crt', GRPC_CLIENT_TLS_SAN: 'envoy' },
      { grpcTls: { clientCa: '/tls/ca.crt', clientName: 'envoy' } },
    ],
    [{ ...TLS, GRPC_SERVER_USE_TLS: 'false' }, { grpcTls: undefined }],
  ])('%j', (given, expected) => {
    expect(read(given)).toMatchObject(expected);
  });

  test('a control plane, with its defaults and with TLS', () => {
    const plane = (given: object) => read({ CONFIG_TYPE: 'GRPC_XDS_SOTW', ...given }).rateLimit;
    expect(plane({})).toMatchObject({
      config: undefined,
      controlPlane: { host: 'localhost', port: 18000, node: 'default', tls: undefined },
    });
    const files = {
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: '/tls/ca.crt',
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: '/tls/client.crt',
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: '/tls/client.key',
      CONFIG_GRPC_XDS_SERVER_TLS_SAN: 'envoy-gateway',
    };
    const place = {
      CONFIG_GRPC_XDS_SERVER_URL: 'envoy-gateway:18001',
      CONFIG_GRPC_XDS_NODE_ID: 'limits',
    };
    const secured = plane({ ...files, ...place, CONFIG_GRPC_XDS_SERVER_USE_TLS: '1' });
    expect(secured?.controlPlane).toMatchObject({
      host: 'envoy-gateway',
      port: 18001,
      node: 'limits',
      tls: {
        ca: '/tls/ca.crt',
        certificate: '/tls/client.crt',
        key: '/tls/client.key',
        serverName: 'envoy-gateway',
      },
    });
    expect(plane({ ...files, ...place })?.controlPlane?.tls).toBe(undefined);
    expect(plane({})?.controlPlane).toMatchObject({ headers: {}, nodeMetadata: {} });
    const known = {
      CONFIG_GRPC_XDS_NODE_METADATA: 'a=b,c=d=e',
      CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: 'Authorization:Bearer a:b',
    };
    expect(plane(known)?.controlPlane).toMatchObject({
      nodeMetadata: { a: 'b', c: 'd=e' },
      headers: { authorization: 'Bearer a:b' },
    });
    const named = plane({ CONFIG_GRPC_XDS_SERVER_URL: 'dns:///plane:1' });
    expect(named?.controlPlane).toMatchObject({ host: 'plane', port: 1 });
  });
});

describe('before the control plane has sent limits', () => {
  const modeFor = (isForced: string, needsLimits: string, ours?: string) =>
    read({
      CONFIG_TYPE: 'GRPC_XDS_SOTW',
      FORCE_START_WITHOUT_INITIAL_CONFIG: isForced,
      HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: needsLimits,
      HEADGATE_RATELIMIT_BEFORE_LIMITS: ours,
    }).rateLimit?.controlPlane?.beforeLimits;

  test('only a forced start is healthy, unless health needs limits', () => {
    expect([modeFor('', ''), modeFor('', 'true'), modeFor('true', 'true')]).toEqual([
      'unhealthy',
      'unhealthy',
      'unhealthy',
    ]);
    expect([modeFor('true', ''), modeFor('true', 'false')]).toEqual(['fail', 'fail']);
  });

  test('headgate’s own setting wins', () => {
    expect(modeFor('true', '', 'allow')).toBe('allow');
  });
});

test('there are no spans, unless OTEL_SDK_DISABLED asks for them', () => {
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', TRACING_ENABLED: 'true' };
  expect(read(traced).tracing).toBe(undefined);
  expect(read({ ...traced, OTEL_SDK_DISABLED: 'false' }).tracing).toBeDefined();
});

describe('booleans, as Go reads them', () => {
  test.each(['1', 't', 'T', 'TRUE', 'true', 'True'])('%s is true', (text) => {
    expect(read({ SHADOW_MODE: text }).rateLimit?.isShadow).toBe(true);
  });
  test.each(['0', 'f', 'F', 'FALSE', 'false', 'False', ''])('%j is false', (text) => {
    expect(read({ SHADOW_MODE: text }).rateLimit?.isShadow).toBe(false);
  });
  test.each(['yes', 'on', 'tRue', ' true'])('%j is a mistake', (text) => {
    expect(mistakesFor({ SHADOW_MODE: text })).toEqual([
      `SHADOW_MODE: must be true or false, not ${JSON.stringify(text)}`,
    ]);
  });
});

describe('Redis', () => {
  test.each<[object, string]>([
    [{ REDIS_URL: 'redis:6379', REDIS_SOCKET_TYPE: 'tcp' }, 'redis://redis:6379'],
    [{ REDIS_URL: '/var/run/redis.sock' }, 'unix:///var/run/redis.sock'],
    [
      { REDIS_URL: '/run/redis.sock', REDIS_SOCKET_TYPE: 'unix', REDIS_AUTH: 'user:a/b' },
      'unix://user:a%2Fb@/run/redis.sock',
    ],
    [{ REDIS_TLS: 'true' }, 'rediss://redis:6379'],
    [{ REDIS_AUTH: 'pass/word@1' }, 'redis://:pass%2Fword%401@redis:6379'],
    [{ REDIS_AUTH: 'user:a:b' }, 'redis://user:a%3Ab@redis:6379'],
    [{ REDIS_TYPE: 'single' }, 'redis://redis:6379'],
    [{ REDIS_TYPE: 'CLUSTER', REDIS_URL: 'a:7000,b:7001' }, 'redis+cluster://a:7000,b:7001'],
    [
      { REDIS_TYPE: 'cluster', REDIS_URL: 'redis://u:p@a:7000,redis://u:p@b:7001' },
      'redis+cluster://u:p@a:7000,b:7001',
    ],
    [
      { REDIS_TYPE: 'sentinel', REDIS_URL: 'mymaster,s1:26379,s2:26379', REDIS_AUTH: 'secret' },
      'redis+sentinel://:secret@s1:26379,s2:26379/mymaster',
    ],
    [
      {
        REDIS_TYPE: 'SENTINEL',
        REDIS_URL: 'mymaster,s1:26379',
        REDIS_SENTINEL_AUTH: 'watch:a&b',
        REDIS_TLS: 'true',
      },
      'rediss+sentinel://s1:26379/mymaster?sentinel_username=watch&sentinel_password=a%26b',
    ],
    [
      { REDIS_TYPE: 'SENTINEL', REDIS_URL: 'mymaster,s1:26379', REDIS_SENTINEL_AUTH: 'secret' },
      'redis+sentinel://s1:26379/mymaster?sentinel_password=secret',
    ],
    [{ REDIS_URL: 'redis://user:pass@redis:6379/2' }, 'redis://user:pass@redis:6379/2'],
    [{ REDIS_URL: 'redis://redis:6379', REDIS_AUTH: 'secret' }, 'redis://:secret@redis:6379'],
    [
      { REDIS_URL: 'redis://us%40er@redis:6379/1', REDIS_AUTH: 'a@b' },
      'redis://us%40er:a%40b@redis:6379/1',
    ],
    [{ REDIS_URL: 'redis://u:p@redis:6379', REDIS_AUTH: 'secret' }, 'redis://u:secret@redis:6379'],
    [{ REDIS_URL: 'redis://u:p@redis:6379', REDIS_AUTH: 'x:y' }, 'redis://x:y@redis:6379'],
    [{ REDIS_URL: 'redis://u:p@redis:6379', REDIS_AUTH: 'x:' }, 'redis://x:p@redis:6379'],
    [
      { REDIS_TYPE: 'CLUSTER', REDIS_URL: 'redis://u@a:1,redis://u@b:2', REDIS_AUTH: 'secret' },
      'redis+cluster://u:secret@a:1,b:2',
    ],
    [{ REDIS_URL: 'redis://redis:6379', REDIS_TLS: 'true' }, 'rediss://redis:6379'],
    [{ REDIS_URL: 'redis+cluster://a:1,b:2' }, 'redis+cluster://a:1,b:2'],
    // Without TLS they have no effect.
    [{ REDIS_TLS_CACERT: '/ca', REDIS_TLS_CLIENT_CERT: '/crt' }, 'redis://redis:6379'],
  ])('%j', (given, url) => {
    const variables = settingsFor(given);
    expect(variables.HEADGATE_REDIS_URL).toBe(url);
    expect(readEnvironment(variables).redis).toBeDefined();
  });

  test('the files of TLS', () => {
    const files = {
      REDIS_TLS_CACERT: '/ca',
      REDIS_TLS_CLIENT_CERT: '/crt',
      REDIS_TLS_CLIENT_KEY: '/key',
    };
    expect(readEnvironment(settingsFor({ REDIS_TLS: 'true', ...files })).redis).toMatchObject({
      tls: true,
      tlsFiles: { ca: '/ca', certificate: '/crt', key: '/key' },
    });
  });

  test('is that of headgate’s setting, if there is one', () => {
    const given = { REDIS_URL: '/redis.sock', HEADGATE_REDIS_URL: 'redis://ours:1' };
    expect(read(given).redis?.addresses).toEqual([{ host: 'ours', port: 1 }]);
  });
});

describe('what is refused', () => {
  test.each<[object, string]>([
    [{ BACKEND_TYPE: 'memcache' }, 'BACKEND_TYPE: headgate counts in Redis, not in memcache'],
    [{ GRPC_UDS: '/tmp/rl.sock' }, 'GRPC_UDS: headgate answers gRPC on a port only'],
    [{ CONFIG_TYPE: 'FILES' }, 'CONFIG_TYPE: must be FILE or GRPC_XDS_SOTW, not "FILES"'],
    [
      { CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_SERVER_URL: 'unix:/plane.sock' },
      'CONFIG_GRPC_XDS_SERVER_URL: must be host:port, not "unix:/plane.sock"',
    ],
    [
      {
        CONFIG_TYPE: 'GRPC_XDS_SOTW',
        CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: 'hidden',
      },
      'CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: must be headers of gRPC such as',
    ],
    [
      { FORCE_START_WITHOUT_INITIAL_CONFIG: 'yes' },
      'FORCE_START_WITHOUT_INITIAL_CONFIG: must be true or false, not "yes"',
    ],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL: must be one of panic, fatal, error'],
    [{ PORT: 'http' }, 'PORT: must be a port from 0 to 65535, not "http"'],
    [{ GRPC_PORT: '65536' }, 'GRPC_PORT: must be a port from 0 to 65535, not "65536"'],
    [
      { USE_PROMETHEUS: 'true', PROMETHEUS_ADDR: '9090' },
      'PROMETHEUS_ADDR: must be :port or host:port, not "9090"',
    ],
    [{ GRPC_SERVER_USE_TLS: 'yes' }, 'GRPC_SERVER_USE_TLS: must be true or false'],
    [{ ...TLS, GRPC_SERVER_TLS_CERT: '' }, 'GRPC_SERVER_TLS_CERT: is not set'],
    [{ ...TLS, GRPC_SERVER_TLS_KEY: '' }, 'GRPC_SERVER_TLS_KEY: is not set'],
    [{ ...TLS, GRPC_CLIENT_TLS_SAN: 'envoy' }, 'GRPC_CLIENT_TLS_CACERT: is not set'],
    [{ REDIS_TYPE: 'RING' }, 'REDIS_TYPE: must be SINGLE, SENTINEL or CLUSTER, not "RING"'],
    [
      { REDIS_TYPE: 'CLUSTER', REDIS_URL: '/var/run/redis.sock' },
      'REDIS_URL: with REDIS_TYPE CLUSTER, write host:port in place of a unix socket',
    ],
    [{ REDIS_SOCKET_TYPE: 'unix' }, 'REDIS_URL: must name the socket by its whole path'],
    [{ REDIS_URL: 'a:1,b:2' }, 'REDIS_URL: must name one host'],
    [{ REDIS_URL: 'a:1/b:2' }, 'REDIS_URL: must end with the number of a database'],
    [
      { REDIS_TYPE: 'SENTINEL', REDIS_URL: 'mymaster' },
      'REDIS_URL: must be the name of the master and the sentinels',
    ],
    [
      { REDIS_TLS: 'true', REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: 'true' },
      'REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: headgate always checks the name',
    ],
  ])('%j', (given, mistake) => {
    expect(mistakesFor(given)).toEqual([expect.stringContaining(mistake)]);
  });

  test('all at once', () => {
    const names = mistakesFor({ BACKEND_TYPE: 'x', GRPC_UDS: '/x', PORT: 'x', REDIS_TYPE: 'x' });
    expect(names.map((line) => line.split(':')[0]).sort()).toEqual([
      'BACKEND_TYPE',
      'GRPC_UDS',
      'PORT',
      'REDIS_TYPE',
    ]);
  });

  test('without quoting a password', () => {
    const mistakes = mistakesFor({ REDIS_URL: 'redis://:hidden@a@b' });
    expect(mistakes).toHaveLength(1);
    expect(mistakes.join()).not.toContain('hidden');
  });
});

describe('what has no effect', () => {
  test.each<[object, string]>([
    [{ USE_STATSD: 'true' }, 'USE_STATSD has no effect: headgate has Prometheus metrics'],
    [
      { STATSD_HOST: 'statsd', STATSD_PORT: '8125', USE_DOG_STATSD: 'true' },
      'USE_DOG_STATSD, STATSD_HOST and STATSD_PORT have no effect: headgate has Prometheus',
    ],
    [
      { CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_NODE_METADATA: 'a:b,c=d' },
      'CONFIG_GRPC_XDS_NODE_METADATA: not sent, because it is no key=value: "a:b"',
    ],
    [
      { FORCE_START_WITHOUT_INITIAL_CONFIG: 'true' },
      'FORCE_START_WITHOUT_INITIAL_CONFIG has no effect: headgate starts only if the files have',
    ],
    [
      { XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: '33554432' },
      'XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES has no effect: the control plane may send up to 16 MiB',
    ],
    [
      { REDIS_PERSECOND: 'true', REDIS_PERSECOND_URL: 'b:1' },
      'REDIS_PERSECOND and REDIS_PERSECOND_URL have no effect: limits per second are counted in',
    ],
    [{ REDIS_PERSECOND: 'true' }, 'REDIS_PERSECOND has no effect: limits per second'],
    [
      { USE_PROMETHEUS: 'true', DEBUG_PORT: '6070' },
      'DEBUG_HOST and DEBUG_PORT have no effect: with USE_PROMETHEUS, all is at 0.0.0.0:9090',
    ],
  ])('%j', (given, note) => {
    expect(notesFor(given)).toEqual([expect.stringContaining(note)]);
  });

  test.each<object>([
    { USE_STATSD: 'false', DISABLE_STATS: 'F', REDIS_PERSECOND: '0', TRACING_ENABLED: 'false' },
    { PROMETHEUS_PATH: '/metrics', LOG_FORMAT: 'json', NEAR_LIMIT_RATIO: '0.8' },
    { LOCAL_CACHE_SIZE_IN_BYTES: '0', REDIS_PIPELINE_WINDOW: '0s', EXTRA_TAGS: '' },
    { REDIS_POOL_ON_EMPTY_BEHAVIOR: 'WAIT', RUNTIME_IGNOREDOTFILES: 'true' },
    { RUNTIME_WATCH_ROOT: 'false' },
    { RUNTIME_WATCH_ROOT: 'true', XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: '16777216' },
    { TRACING_SERVICE_NAME: 'limits', TRACING_ENABLED: 'false', REDIS_PERSECOND_URL: 'b:1' },
    { HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: 'true' },
    { ...{ CONFIG_TYPE: 'GRPC_XDS_SOTW' }, FORCE_START_WITHOUT_INITIAL_CONFIG: 'true' },
    { HOST: '127.0.0.1', GRPC_HOST: '127.0.0.2', DEBUG_HOST: '127.0.0.3' },
  ])('no note for what asks for nothing else: %j', (given) => {
    expect(notesFor(given)).toEqual([]);
  });
});

describe('headgate’s own settings win', () => {
  test.each<[object, object]>([
    [{ PORT: '1', HEADGATE_RATELIMIT_HTTP_PORT: '2' }, { rateLimit: { httpPort: 2 } }],
    [{ GRPC_PORT: '1', HEADGATE_GRPC_PORT: '2' }, { grpcPort: 2 }],
    [
      { HOST: '0.0.0.0', HEADGATE_HOST: '127.0.0.1' },
      { host: '127.0.0.1', rateLimit: { httpHost: undefined } },
    ],
    [
      { HOST: '10.0.0.1', HEADGATE_RATELIMIT_HTTP_HOST: '127.0.0.1' },
      { host: '0.0.0.0', rateLimit: { httpHost: '127.0.0.1' } },
    ],
    [{ HEADGATE_PORT: '3' }, { port: 3 }],
    [{ HEADGATE_POLICIES: 'ours.yaml' }, { policies: 'ours.yaml' }],
    [{ RUNTIME_ROOT: '/a', HEADGATE_RATELIMIT_CONFIG: '/b' }, { rateLimit: { config: '/b' } }],
    [
      { HEADGATE_RATELIMIT_CONTROL_PLANE: 'plane:1' },
      { rateLimit: { config: undefined, controlPlane: { host: 'plane' } } },
    ],
    [
      { CONFIG_TYPE: 'GRPC_XDS_SOTW', HEADGATE_RATELIMIT_CONFIG: '/b' },
      { rateLimit: { config: '/b', controlPlane: undefined } },
    ],
    [{ SHADOW_MODE: 'true', HEADGATE_RATELIMIT_SHADOW: 'off' }, { rateLimit: { isShadow: false } }],
    [
      { ...TLS, GRPC_SERVER_TLS_CERT: '', HEADGATE_GRPC_TLS_CERT: '/ours.crt' },
      { grpcTls: { certificate: '/ours.crt', key: '/tls/server.key' } },
    ],
  ])('%j', (given, expected) => {
    expect(read(given)).toMatchObject(expected);
  });

  test('but not empty ones, and not those that Kubernetes sets for a Service called headgate', () => {
    const links = { HEADGATE_PORT: 'tcp://10.0.0.1:8080', HEADGATE_GRPC_PORT: '' };
    const { port, grpcPort } = read({ ...links, GRPC_PORT: '9' });
    expect([port, grpcPort]).toEqual([undefined, 9]);
  });
});

/** For each variable that is mapped or refused: a value other than the default, and what it needs to have an effect. */
const XDS = { CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true' };
const NEEDS: readonly [pattern: RegExp, needs: object][] = [
  [/^CONFIG_GRPC_/, XDS],
  [/^(GRPC_SERVER_TLS|GRPC_CLIENT_TLS_CACERT)/, TLS],
  [/^GRPC_CLIENT_TLS_SAN/, TLS],
  [/^LIMIT_/, { LIMIT_RESPONSE_HEADERS_ENABLED: 'true' }],
  [/^REDIS_TLS_/, { REDIS_TLS: 'true' }],
  [/^REDIS_SENTINEL_AUTH/, { REDIS_TYPE: 'SENTINEL', REDIS_URL: 'mymaster,s1:26379' }],
  [/^PROMETHEUS_ADDR/, { USE_PROMETHEUS: 'true' }],
  [/^TRACING_/, { TRACING_ENABLED: 'true' }],
  [/^REDIS_PERSECOND_/, { REDIS_PERSECOND: 'true' }],
];
const VALUES: Readonly<Record<string, string>> = {
  PROMETHEUS_ADDR: ':1234',
  REDIS_SOCKET_TYPE: 'unix',
  REDIS_TYPE: 'CLUSTER',
  REDIS_URL: 'other:6379',
  CONFIG_GRPC_XDS_SERVER_URL: 'plane:1',
  LOG_LEVEL: 'debug',
  CONFIG_TYPE: 'GRPC_XDS_SOTW',
};
const FLAG =
  /^(USE|DISABLE)_|_MODE$|_TLS$|_ENABLED$|^(RESPONSE_DYNAMIC_METADATA|MERGE_DOMAIN_CONFIG)$|VERIFICATION$/;

test('every variable of theirs becomes a setting, a note or a mistake', () => {
  const trialOf = (name: string) =>
    VALUES[name] ?? (FLAG.test(name) ? 'true' : /PORT$/.test(name) ? '1234' : 'x');
  const outcome = (given: object) => {
    const mistakes = mistakesFor(given);
    const { notes, variables }: DropIn =
      mistakes.length > 0 ? { notes: [], variables: {} } : dropInFor({ ...QUIET, ...given });
    const ours = Object.entries(variables).filter(([key]) => key.startsWith('HEADGATE_'));
    return JSON.stringify([mistakes, notes, ours]);
  };
  const without = THEIRS.filter((name) => {
    const needs = Object.assign({}, ...NEEDS.map(([pattern, it]) => pattern.test(name) && it));
    const { [name]: _, ...rest } = needs;
    return outcome(rest) === outcome({ ...rest, [name]: trialOf(name) });
  });
  expect(without).toEqual([]);
  expect(new Set(THEIRS).size).toBe(114);
});
