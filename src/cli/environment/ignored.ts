import { LARGEST_MESSAGE_BYTES } from '../../gateway/config/settings/control-plane-forms.ts';
import type { Given } from './variable.ts';

interface Ignored {
  readonly names: readonly string[];
  /** A value that asks for what headgate does anyway, or for nothing. */
  readonly unless?: { test(value: string): boolean };
  /** `names` mean nothing unless this one is true. */
  readonly onlyWith?: string;
  readonly note: string;
}

const OFF = /^(?:0|f|false)$/i;
const ON = /^(?:1|t|true)$/i;
const EITHER = /^(?:0|f|false|1|t|true)$/i;

const IGNORED: readonly Ignored[] = [
  {
    names: [
      'USE_STATSD',
      'USE_DOG_STATSD',
      'USE_DOG_STATSD_MOGRIFIERS',
      'STATSD_HOST',
      'STATSD_PORT',
      'STATS_FLUSH_INTERVAL',
    ],
    unless: OFF,
    note: 'headgate has Prometheus metrics, at /metrics of the debug port',
  },
  {
    names: ['DISABLE_STATS'],
    unless: OFF,
    note: 'metrics are sent nowhere, but /metrics of the debug port has them',
  },
  { names: ['EXTRA_TAGS'], note: 'add labels in Prometheus' },
  { names: ['PROMETHEUS_PATH'], unless: /^\/metrics$/, note: 'metrics are at /metrics' },
  {
    names: ['PROMETHEUS_MAPPER_YAML'],
    note: 'metrics of headgate have labels and need no mapping',
  },
  {
    names: ['PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS'],
    unless: OFF,
    note: 'times in metrics are in seconds',
  },
  { names: ['LOG_FORMAT'], unless: /^json$/i, note: 'lines of the log are JSON' },
  {
    names: ['RUNTIME_IGNOREDOTFILES'],
    unless: ON,
    note: 'files whose names begin with a dot are never read',
  },
  {
    names: ['RUNTIME_WATCH_ROOT'],
    unless: EITHER,
    note: 'headgate notices a change of the files, and of a link that leads to them',
  },
  {
    names: [
      'CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL',
      'XDS_CLIENT_BACKOFF_INITIAL_INTERVAL',
      'XDS_CLIENT_BACKOFF_MAX_INTERVAL',
      'XDS_CLIENT_BACKOFF_RANDOM_FACTOR',
      'XDS_CLIENT_BACKOFF_JITTER',
    ],
    note: 'headgate connects again to the control plane after 10 seconds, later after up to a minute, and sooner while it has no limits',
  },
  {
    names: ['XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES'],
    unless: { test: (bytes) => Number(bytes) <= LARGEST_MESSAGE_BYTES },
    note: 'the control plane may send up to 16 MiB at once',
  },
  { names: ['LOCAL_CACHE_SIZE_IN_BYTES'], unless: /^0$/, note: 'headgate caches denials itself' },
  {
    names: ['NEAR_LIMIT_RATIO'],
    unless: /^0?\.80*$/,
    note: 'hits are near their limit from 80 % of it',
  },
  {
    names: ['EXPIRATION_JITTER_MAX_SECONDS'],
    note: 'keys in Redis expire when their counts are over',
  },
  {
    names: ['CACHE_KEY_PREFIX'],
    note: 'keys of headgate begin with "hg:"; for counts apart from others, use another database of Redis',
  },
  {
    names: ['STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT'],
    unless: OFF,
    note: 'with sliding windows, hits that are denied do not count',
  },
  {
    names: [
      'REDIS_PERSECOND',
      'REDIS_PERSECOND_SOCKET_TYPE',
      'REDIS_PERSECOND_TYPE',
      'REDIS_PERSECOND_URL',
      'REDIS_PERSECOND_POOL_SIZE',
      'REDIS_PERSECOND_AUTH',
      'REDIS_PERSECOND_TLS',
      'REDIS_PERSECOND_SENTINEL_AUTH',
      'REDIS_PERSECOND_PIPELINE_WINDOW',
      'REDIS_PERSECOND_PIPELINE_LIMIT',
      'REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM',
      'REDIS_PERSECOND_TIMEOUT',
      'REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR',
    ],
    unless: OFF,
    onlyWith: 'REDIS_PERSECOND',
    note: 'limits per second are counted in the same Redis as others',
  },
  {
    names: [
      'REDIS_POOL_SIZE',
      'REDIS_POOL_ON_EMPTY_BEHAVIOR',
      'REDIS_PIPELINE_WINDOW',
      'REDIS_PIPELINE_LIMIT',
      'REDIS_CLUSTER_PIPELINE_PARALLELISM',
    ],
    unless: /^(?:0s?|WAIT)$/i,
    note: 'headgate uses one connection to each server of Redis, and sends its commands in batches',
  },
  {
    names: ['REDIS_TIMEOUT'],
    note: 'HEADGATE_STORE_TIMEOUT_MS says how long a call waits for Redis; the default is 50 ms',
  },
  {
    names: ['REDIS_HEALTH_CHECK_ACTIVE_CONNECTION'],
    unless: OFF,
    note: 'headgate answers calls without Redis too, so /healthcheck passes; /metrics shows whether Redis answers',
  },
  {
    names: [
      'REDIS_STARTUP_INITIAL_INTERVAL',
      'REDIS_STARTUP_MAX_INTERVAL',
      'REDIS_STARTUP_MAX_ELAPSED_TIME',
    ],
    note: 'headgate starts without Redis, and connects as soon as it can',
  },
  {
    names: [
      'MEMCACHE_HOST_PORT',
      'MEMCACHE_MAX_IDLE_CONNS',
      'MEMCACHE_SRV',
      'MEMCACHE_SRV_REFRESH',
      'MEMCACHE_TLS',
      'MEMCACHE_TLS_CLIENT_CERT',
      'MEMCACHE_TLS_CLIENT_KEY',
      'MEMCACHE_TLS_CACERT',
      'MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION',
    ],
    unless: OFF,
    note: 'headgate counts in Redis',
  },
  {
    names: [
      'TRACING_ENABLED',
      'TRACING_SERVICE_NAME',
      'TRACING_SERVICE_NAMESPACE',
      'TRACING_SERVICE_INSTANCE_ID',
      'TRACING_EXPORTER_PROTOCOL',
      'TRACING_SAMPLING_RATE',
    ],
    unless: OFF,
    onlyWith: 'TRACING_ENABLED',
    note: 'for spans, set OTEL_SDK_DISABLED to false and OTEL_EXPORTER_OTLP_ENDPOINT',
  },
  {
    names: ['GRPC_MAX_CONNECTION_AGE', 'GRPC_MAX_CONNECTION_AGE_GRACE'],
    note: 'connections stay open until the gateway stops',
  },
];

/** `A, B and C` */
const LIST = new Intl.ListFormat('en-GB');

export function ignored(given: Given): string[] {
  return IGNORED.flatMap(({ names, unless, onlyWith, note }) => {
    if (onlyWith !== undefined && OFF.test(given[onlyWith] || 'false')) return [];
    const set = names.filter((name) => given[name] && unless?.test(given[name]) !== true);
    const verb = set.length === 1 ? 'has' : 'have';
    return set.length === 0 ? [] : [`${LIST.format(set)} ${verb} no effect: ${note}`];
  });
}
