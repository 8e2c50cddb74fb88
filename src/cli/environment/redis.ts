/** The Redis of envoyproxy/ratelimit, as a URL (src/redis/driver_impl.go). */
import { parseRedisUrl } from '../../gateway/config/settings/redis-url.ts';
import { type Given, isTrue, type Mapped, mistakeOf, textsThatHold } from './variable.ts';

const TYPES = ['SINGLE', 'SENTINEL', 'CLUSTER'];
const SCHEME = /^(rediss?):\/\//;
const OUR_FORM = /^rediss?\+\w+:\/\//;

/** `REDIS_URL` is `host:port`, several of them in a cluster; with sentinels the master's name comes first. */
export function redisUrlOf(given: Given): Mapped {
  const { REDIS_URL: url } = given;
  // headgate's own setting wins.
  if (given.HEADGATE_REDIS_URL) return {};
  if (!url) return { notes: ['REDIS_URL is not set: this gateway counts in its own memory'] };
  const type = (given.REDIS_TYPE || 'SINGLE').toUpperCase();
  const mistakes = mistakesIn(given, url, type);
  if (mistakes.length > 0) return { mistakes };
  const written = OUR_FORM.test(url) ? url : urlOf(given, url, type);
  const refused = mistakeOf('REDIS_URL', () => parseRedisUrl(written));
  if (refused.length > 0) return { mistakes: refused };
  return { settings: { HEADGATE_REDIS_URL: written, ...tlsFiles(given) } };
}

function urlOf(given: Given, url: string, type: string): string {
  const scheme = isTrue(given.REDIS_TLS) || url.startsWith('rediss:') ? 'rediss' : 'redis';
  const places = url.split(',').map((place) => place.replace(SCHEME, ''));
  const master = type === 'SENTINEL' ? (places.shift() ?? '') : '';
  const user = userOf(given.REDIS_AUTH, /^(.*)@/.exec(places[0] ?? '')?.[1]);
  const hosts = places.map((place) => place.replace(/^.*@/, '')).join(',');
  if (isSocket(given, url, type))
    return `unix://${userOf(given.REDIS_AUTH, undefined)}${url.replace(/^unix:(\/\/)?/, '')}`;
  if (type === 'SINGLE') return `${scheme}://${user}${hosts}`;
  if (type === 'CLUSTER') return `${scheme}+cluster://${user}${hosts}`;
  return `${scheme}+sentinel://${user}${hosts}/${master}${sentinelQuery(given.REDIS_SENTINEL_AUTH)}`;
}

/** Their client then takes the URL as the path of a socket. */
function isSocket(given: Given, url: string, type: string): boolean {
  return /^(?:\/|unix:)/.test(url) || (type === 'SINGLE' && given.REDIS_SOCKET_TYPE === 'unix');
}

function mistakesIn(given: Given, url: string, type: string): string[] {
  return textsThatHold({
    [`REDIS_TYPE: must be SINGLE, SENTINEL or CLUSTER, not ${JSON.stringify(type)}`]:
      !TYPES.includes(type),
    [`REDIS_URL: with REDIS_TYPE ${type}, write host:port in place of a unix socket, and set REDIS_SOCKET_TYPE to tcp`]:
      isSocket(given, url, type) && type !== 'SINGLE',
    'REDIS_URL: must be the name of the master and the sentinels, as in mymaster,host:26379,host:26379':
      type === 'SENTINEL' && !OUR_FORM.test(url) && !url.includes(','),
    'REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: headgate always checks the name: unset it, and use a certificate with the name of the host':
      isTrue(given.REDIS_TLS) && isTrue(given.REDIS_TLS_SKIP_HOSTNAME_VERIFICATION),
  });
}

function tlsFiles(given: Given): Record<string, string> {
  if (!isTrue(given.REDIS_TLS)) return {};
  const { REDIS_TLS_CACERT: ca, REDIS_TLS_CLIENT_CERT: cert, REDIS_TLS_CLIENT_KEY: key } = given;
  return {
    ...(ca && { HEADGATE_REDIS_TLS_CA: ca }),
    ...(cert && { HEADGATE_REDIS_TLS_CERT: cert }),
    ...(key && { HEADGATE_REDIS_TLS_KEY: key }),
  };
}

/** `password`, or `user:password`. */
function namesOf(auth: string): readonly [user: string, password: string] {
  const [, user = '', password = ''] = /^(?:([^:]*):)?(.*)$/s.exec(auth) ?? [];
  return [user, password];
}

/**
 * `REDIS_AUTH` wins over what the URL says, the user and the password each by itself, as in radix 4.1.4 (conn.go,
 * parseRedisURL). The URL's are encoded already.
 */
function userOf(auth: string | undefined, ofUrl: string | undefined): string {
  if (!auth) return ofUrl === undefined ? '' : `${ofUrl}@`;
  const [user, password] = namesOf(auth).map(encodeURIComponent);
  // The URL has `user`, or `user:password`.
  const [, urlUser = '', urlPassword = ''] = /^([^:]*):?(.*)$/s.exec(ofUrl ?? '') ?? [];
  return `${user || urlUser}:${password || urlPassword}@`;
}

function sentinelQuery(auth: string | undefined): string {
  if (!auth) return '';
  const [user, password] = namesOf(auth);
  const query = new URLSearchParams({
    ...(user !== '' && { sentinel_username: user }),
    sentinel_password: password,
  });
  return `?${query}`;
}
