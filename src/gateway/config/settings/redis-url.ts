/**
 *     redis://user:password@host:6379/0
 *     redis+sentinel://user:password@host:26379,host:26379/mymaster/0?sentinel_password=secret
 *     redis+cluster://user:password@host:6379,host:6379
 *     unix://user:password@/run/redis.sock?db=0
 *
 * `rediss` uses TLS for every server. Node's URL supports only one host, so this file parses the text.
 */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  /** A unix socket of this machine, used in place of host and port. */
  readonly path?: string;
}

/** The form in which people read it: `127.0.0.1:6379`, `[::1]:6379` or `unix:/run/redis.sock`. */
export function redisPlace({ host, port, path }: RedisAddress): string {
  if (path !== undefined) return `unix:${path}`;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export interface RedisTarget {
  readonly kind: 'single' | 'sentinel' | 'cluster';
  /** The server, the sentinels, or some nodes of the cluster. */
  readonly addresses: readonly [RedisAddress, ...RedisAddress[]];
  readonly tls: boolean;
  /** Undefined: the authorities that Node trusts, and no certificate. */
  readonly tlsFiles?: RedisTlsFiles;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  /** Only for sentinels, like the fields below. */
  readonly masterName: string;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
}

interface RedisTlsFiles {
  readonly ca: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

const URL_PARTS =
  /^(?<scheme>redis|rediss)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<user>[^@/?#]*)@)?(?<hosts>[^@/?#]+)(?<path>\/[^?#]*)?(?:\?(?<query>[^#]*))?$/;
const SOCKET_PARTS =
  /^unix:(?:\/\/(?:(?<user>[^@/?#]*)@)?)?(?<path>\/(?!\/)[^?#@]*[^/?#@])(?:\?(?<query>[^#]*))?$/;
const HOST = /^(?:\[(?<ipv6>[0-9A-Fa-f:.]+)\]|(?<name>[A-Za-z0-9._-]+))(?::(?<port>\d{1,5}))?$/;
export const REDIS_URL_FORM =
  'a URL such as redis://user:password@host:6379/0, rediss://host, ' +
  'redis+sentinel://host:26379,host:26379/mymaster, redis+cluster://host:6379,host:6379 or unix:///run/redis.sock';
const FORM = `must be ${REDIS_URL_FORM}`;
const UNESCAPED = 'write a "/", "?", "#" or "@" of a password as %2F, %3F, %23 or %40';
const DEFAULT_PORTS = { single: 6379, sentinel: 26379, cluster: 6379 };

/** Throws a RangeError whose message gives the right form. It never quotes a part that may hold a password. */
export function parseRedisUrl(text: string): RedisTarget {
  if (text.startsWith('unix:')) return parseSocket(text);
  const parts = URL_PARTS.exec(text)?.groups;
  if (parts === undefined) {
    if (/^rediss?(\+\w+)?:\/\/.*@/.test(text)) throw new RangeError(`${FORM}; ${UNESCAPED}`);
    throw new RangeError(FORM);
  }
  const kind = (parts.kind ?? 'single') as RedisTarget['kind'];
  const [first, ...others] = (parts.hosts ?? '').split(',').map((host) => parseHost(host, kind));
  if (first === undefined || (kind === 'single' && others.length > 0)) {
    throw new RangeError(
      'must name one host; for several, begin with redis+sentinel:// or redis+cluster://',
    );
  }
  const path = (parts.path ?? '')
    .split('/')
    .slice(1)
    .filter((part) => part !== '')
    .map(decode);
  if (text.indexOf('@') !== text.lastIndexOf('@')) throw new RangeError(UNESCAPED);
  const masterName = kind === 'sentinel' ? path.shift() : '';
  if (masterName === undefined || !/^[\w.-]*$/.test(masterName)) {
    throw new RangeError(
      `must name the master after the sentinels, as in .../mymaster, by letters, digits, ".", "-" and "_"; ${UNESCAPED}`,
    );
  }
  const [username, password] = parseUser(parts.user);
  const known = kind === 'sentinel' ? ['sentinel_username', 'sentinel_password'] : [];
  const options = parseQuery(parts.query ?? '', known);
  return {
    kind,
    addresses: [first, ...others],
    tls: parts.scheme === 'rediss',
    username,
    password,
    database: parseDatabase(path, kind),
    masterName,
    sentinelUsername: options.sentinel_username,
    sentinelPassword: options.sentinel_password,
  };
}

function parseSocket(text: string): RedisTarget {
  const parts = SOCKET_PARTS.exec(text)?.groups;
  if (parts === undefined) {
    throw new RangeError(
      `must name the socket by its whole path, as in unix:///run/redis.sock or unix://user:password@/run/redis.sock?db=0; ${UNESCAPED}`,
    );
  }
  const [username, password] = parseUser(parts.user);
  const { db = '0' } = parseQuery(parts.query ?? '', ['db']);
  return {
    kind: 'single',
    addresses: [{ host: '', port: 0, path: decode(parts.path ?? '') }],
    tls: false,
    username,
    password,
    database: parseDatabase([db], 'single'),
    masterName: '',
    sentinelUsername: undefined,
    sentinelPassword: undefined,
  };
}

function parseHost(text: string, kind: RedisTarget['kind']): RedisAddress {
  const { ipv6, name, port = String(DEFAULT_PORTS[kind]) } = HOST.exec(text)?.groups ?? {};
  const host = ipv6 ?? name;
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw new RangeError(
      `must have hosts such as redis.example.com:6379 or [::1]:6379; ${UNESCAPED}`,
    );
  }
  return { host, port: Number(port) };
}

function parseUser(text: string | undefined): [string | undefined, string | undefined] {
  if (text === undefined) return [undefined, undefined];
  const colon = text.indexOf(':');
  const username = colon === -1 ? text : text.slice(0, colon);
  const password = colon === -1 ? '' : text.slice(colon + 1);
  return [decode(username) || undefined, decode(password) || undefined];
}

function parseDatabase(path: readonly string[], kind: RedisTarget['kind']): number {
  const [database = '0', ...rest] = path;
  if (!/^\d{1,5}$/.test(database) || rest.length > 0) {
    throw new RangeError('must end with the number of a database, as in .../0, or without one');
  }
  if (kind === 'cluster' && database !== '0') {
    throw new RangeError('must not name a database: a cluster has only 0');
  }
  return Number(database);
}

function parseQuery(text: string, known: readonly string[]): Partial<Record<string, string>> {
  const query = new URLSearchParams(text);
  for (const name of query.keys()) {
    if (known.includes(name)) continue;
    const remedy = known.length > 0 ? `known options are ${known.join(' and ')}` : 'remove it';
    // The rest of an unescaped password after its "?" looks like an option: do not quote it.
    if (!/^[a-z_]{1,30}$/.test(name)) throw new RangeError(UNESCAPED);
    throw new RangeError(`has the unknown option "${name}", ${remedy}`);
  }
  return Object.fromEntries(query);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RangeError('has a "%" that is not an escape, write it as %25');
  }
}
