import { describe, expect, test } from 'vitest';
import { parseRedisUrl } from '../../../../../src/gateway/config/settings/redis-url.ts';

describe('a URL names', () => {
  test('one server', () => {
    expect(parseRedisUrl('redis://host')).toEqual({
      kind: 'single',
      addresses: [{ host: 'host', port: 6379 }],
      tls: false,
      username: undefined,
      password: undefined,
      database: 0,
      masterName: '',
      sentinelUsername: undefined,
      sentinelPassword: undefined,
    });
  });
  test('the account, port and database of a server', () => {
    expect(parseRedisUrl('redis://me:p%40ss%2F@[::1]:7000/3')).toMatchObject({
      addresses: [{ host: '::1', port: 7000 }],
      username: 'me',
      password: 'p@ss/',
      database: 3,
    });
  });
  test.each([
    ['redis://me:pa:ss@host', 'me', 'pa:ss'],
    ['redis+sentinel://me:pa:ss@a,b/main', 'me', 'pa:ss'],
    ['redis+cluster://:pa:ss:@a,b', undefined, 'pa:ss:'],
    ['unix://me::@/run/redis.sock', 'me', ':'],
    ['redis://me@host', 'me', undefined],
    ['redis://:@host', undefined, undefined],
  ])('%s: the user ends at the first colon', (url, username, password) => {
    expect(parseRedisUrl(url)).toMatchObject({ username, password });
  });
  test('a password without a user', () => {
    expect(parseRedisUrl('rediss://:hunter2@host/')).toMatchObject({
      tls: true,
      username: undefined,
      password: 'hunter2',
      database: 0,
    });
  });
  test('a unix socket', () => {
    expect(parseRedisUrl('unix:///run/my%20redis/redis.sock')).toMatchObject({
      kind: 'single',
      addresses: [{ path: '/run/my redis/redis.sock' }],
      database: 0,
    });
    expect(parseRedisUrl('unix://me:p%40ss@/run/redis.sock?db=3')).toMatchObject({
      addresses: [{ path: '/run/redis.sock' }],
      username: 'me',
      password: 'p@ss',
      database: 3,
    });
    expect(parseRedisUrl('unix:/run/redis.sock').addresses[0].path).toBe('/run/redis.sock');
  });
  test('sentinels and their master', () => {
    const url = 'redis+sentinel://me:secret@a:1,b/mymaster/2?sentinel_password=x%26y';
    expect(parseRedisUrl(url)).toMatchObject({
      kind: 'sentinel',
      addresses: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26379 },
      ],
      masterName: 'mymaster',
      database: 2,
      password: 'secret',
      sentinelPassword: 'x&y',
    });
  });
  test('a cluster, with TLS', () => {
    expect(parseRedisUrl('rediss+cluster://a:1,b:2')).toMatchObject({
      kind: 'cluster',
      addresses: [
        { host: 'a', port: 1 },
        { host: 'b', port: 2 },
      ],
      tls: true,
    });
  });
});

const SECRET = 'hunter2';
describe('an invalid URL is refused with a remedy, and its password is not quoted', () => {
  test.each([
    ['localhost:6379', 'must be a URL such as'],
    ['redis://', 'must be a URL such as'],
    [`http://me:${SECRET}@host`, 'must be a URL such as'],
    [`redis:me:${SECRET}@host`, 'must be a URL such as'],
    [`redis+proxy://me:${SECRET}@host`, 'must be a URL such as'],
    [`redis://:${SECRET}@host/abc`, 'the number of a database'],
    [`redis://:${SECRET}@host/0/1`, 'the number of a database'],
    [`redis://:${SECRET}@a,b`, 'must name one host'],
    [`redis://:${SECRET}@host:0`, 'hosts such as'],
    [`redis://:${SECRET}@host:99999`, 'hosts such as'],
    [`redis://:a/${SECRET}@host`, 'write a "/"'],
    [`redis://:a@${SECRET}@host`, 'write a "/"'],
    [`redis://default:7?${SECRET}@redis.internal:6379`, 'write a "/"'],
    [`redis+sentinel://user:12/${SECRET}@host`, 'write a "/"'],
    [`redis+sentinel://user:a#${SECRET}@host/mymaster`, 'write a "/"'],
    [`redis://host/0?${SECRET}@x`, 'write a "/"'],
    [`unix://:${SECRET}@redis.sock`, 'by its whole path'],
    [`unix://:a/${SECRET}@/run/redis.sock`, 'write a "/"'],
    ['unix:redis.sock', 'by its whole path'],
    ['unix:///run/', 'by its whole path'],
    [`unix://:${SECRET}@/run/redis.sock?db=x`, 'the number of a database'],
    [`unix://:${SECRET}@/run/redis.sock?database=1`, 'known options are db'],
    [`redis://:${SECRET}%@host`, '%25'],
    [`redis+sentinel://:${SECRET}@host:26379`, 'must name the master'],
    [`redis+cluster://:${SECRET}@a,b/1`, 'a cluster has only 0'],
    [`redis://:${SECRET}@host?family=6`, 'unknown option "family"'],
    [`redis+sentinel://:${SECRET}@host/m?db=6`, 'known options are sentinel_username'],
  ])('%s', (url, message) => {
    expect(() => parseRedisUrl(url)).toThrow(message);
    expect(() => parseRedisUrl(url)).not.toThrow(SECRET);
  });
});
