/** How to reach a Redis: one server, sentinels or a cluster. */
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

/** Paths of files in PEM. */
export interface RedisTlsFiles {
  readonly ca: string | undefined;
  /** The one that headgate shows, with its key. */
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}
