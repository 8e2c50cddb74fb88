import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../../../../src/gateway/config/diagnostic.ts';
import { readEnvironment } from '../../../../../src/gateway/config/settings/environment.ts';
import { SETTINGS } from '../../../../../src/gateway/config/settings/settings.ts';

test('without variables, each setting has its documented default', () => {
  const { policies, cloudflareRanges, ...rest } = readEnvironment({});
  expect(cloudflareRanges).toMatch(/config\/cloudflare-ranges\.yaml$/);
  expect(policies).toMatch(/config\/policies\.yaml$/);
  expect(rest).toEqual({
    host: '127.0.0.1',
    port: 8080,
    grpcPort: 8081,
    socket: undefined,
    opsHost: '127.0.0.1',
    opsPort: 9464,
    ui: true,
    redis: undefined,
    storeTimeoutMs: 50,
    memoryMaxKeys: 1_000_000,
    replicas: 1,
    rememberedDenials: 10_000,
    workers: 1,
    worker: undefined,
    drainMs: 5_000,
    proxySecrets: [],
    settleSecrets: [],
    adminToken: undefined,
    ipSaltSecret: undefined,
    settleKeys: [],
    settleWithinMs: 900_000,
    logLevel: 'info',
  });
});

test('commas separate several proxy secrets', () => {
  const secrets = `${'a'.repeat(16)},${'b'.repeat(32)}`;
  expect(readEnvironment({ HEADGATE_PROXY_SECRET: secrets }).proxySecrets).toEqual([
    'a'.repeat(16),
    'b'.repeat(32),
  ]);
});

test('settlements have one or two keys, secrets, and a life of a day at most', () => {
  const [first, second] = ['a'.repeat(32), 'b'.repeat(40)];
  const found = readEnvironment({
    HEADGATE_SETTLE_KEYS: `${first},${second}`,
    HEADGATE_SETTLE_SECRET: 'c'.repeat(16),
    HEADGATE_SETTLE_WITHIN: '1d',
  });
  expect(found).toMatchObject({
    settleKeys: [first, second],
    settleSecrets: ['c'.repeat(16)],
    settleWithinMs: 86_400_000,
  });
});

test.each(['25h', '15', '0min', '2d'])('nothing is settled within %s', (value) => {
  expect(() => readEnvironment({ HEADGATE_SETTLE_WITHIN: value })).toThrow(
    /^HEADGATE_SETTLE_WITHIN: .*min/,
  );
});

test('several workers need Redis', () => {
  expect(() => readEnvironment({ HEADGATE_WORKERS: '2' })).toThrow(
    'HEADGATE_WORKERS: several workers need HEADGATE_REDIS_URL',
  );
  const redis = { HEADGATE_REDIS_URL: 'redis://127.0.0.1' };
  expect(readEnvironment({ HEADGATE_WORKERS: '2', ...redis }).workers).toBe(2);
});

test('reports a misspelled setting, and ignores the variables that Kubernetes sets', () => {
  expect(() => readEnvironment({ HEADGATE_PROXY_SECRETS: 'x' })).toThrow(
    'HEADGATE_PROXY_SECRETS: is not a setting, did you mean "HEADGATE_PROXY_SECRET"?',
  );
  const kubernetes = {
    HEADGATE_SERVICE_HOST: '10.0.0.1',
    HEADGATE_SERVICE_PORT: '8080',
    HEADGATE_PORT: 'tcp://10.0.0.1:8080',
    HEADGATE_PORT_8080_TCP_ADDR: '10.0.0.1',
    HEADGATE_OPS_SERVICE_HOST: '10.0.0.2',
  };
  expect(readEnvironment(kubernetes).port).toBe(8080);
});

test('suggests each setting of headgate for its misspelling', () => {
  const own = SETTINGS.filter(({ name }) => name.startsWith('HEADGATE_'));
  for (const { name } of own) {
    expect(() => readEnvironment({ [name.replace('_', '_X')]: 'x' })).toThrow(
      `is not a setting, did you mean "${name}"?`,
    );
  }
});

test('reads each setting', () => {
  const read = new Set<string | symbol>();
  const variables = new Proxy<NodeJS.ProcessEnv>(
    {},
    {
      get(_target, name) {
        read.add(name);
        return undefined;
      },
    },
  );
  readEnvironment(variables);
  const names = SETTINGS.flatMap(({ name, otherName = [] }) => [name, otherName]);
  expect([...read].sort()).toEqual(names.flat().sort());
});

test.each([
  ['HEADGATE_SETTLE_KEYS', 'a'.repeat(31)],
  ['HEADGATE_SETTLE_KEYS', [1, 2, 3].map(() => 'a'.repeat(32)).join()],
  ['HEADGATE_SETTLE_SECRET', 'too-short'],
  ['HEADGATE_PROXY_SECRET', 'too-short'],
  ['HEADGATE_PROXY_SECRET', 'with a space in the middle'],
  ['HEADGATE_PROXY_SECRET', 'sixteen-and-more-,'],
  ['HEADGATE_PROXY_SECRET', 'tcp://10.0.0.1:8080 is no link of Kubernetes here'],
  ['HEADGATE_IP_SALT_SECRET', 'shorter-than-32-characters'],
  ['HEADGATE_ADMIN_TOKEN', 'fifteen-letters'],
  ['HEADGATE_ADMIN_TOKEN', 'with a space in the middle'],
  ['HEADGATE_ADMIN_TOKEN', 'with,a,comma,in,the,middle'],
  ['HEADGATE_ADMIN_TOKEN', 'with=an=equals=sign=in=it'],
  ['HEADGATE_ADMIN_TOKEN', 'a'.repeat(257)],
])('refuses the secret %s without quoting it: %s', (name, value) => {
  expect(() => readEnvironment({ [name]: value })).toThrow(
    new RegExp(`^${name}: must be at least`),
  );
  expect(() => readEnvironment({ [name]: value })).not.toThrow(value);
});

test.each(['sixteen-letters.', 'c2l4dGVlbi1sZXR0ZXJz==', '~+/_'.repeat(64)])(
  'the token of operators may be %s',
  (token) => {
    expect(readEnvironment({ HEADGATE_ADMIN_TOKEN: token }).adminToken).toBe(token);
  },
);

describe('an ops server that other machines can reach', () => {
  const token = { HEADGATE_ADMIN_TOKEN: 'sixteen-letters.' };

  test.each(['0.0.0.0', '::', '10.0.0.1', '2001:db8::1', '127.1', 'localhost.example.com', 'ops'])(
    'needs a token at %s',
    (opsHost) => {
      const variables = { HEADGATE_OPS_HOST: opsHost };
      expect(() => readEnvironment(variables)).toThrow(
        new ConfigError([
          `HEADGATE_OPS_HOST: other machines can reach "${opsHost}" and control the gateway; set HEADGATE_ADMIN_TOKEN (at least 16 characters), or use a loopback address such as 127.0.0.1`,
        ]),
      );
      expect(readEnvironment({ ...variables, ...token })).toMatchObject({
        opsHost,
        adminToken: 'sixteen-letters.',
      });
      expect(() => readEnvironment({ ...variables, HEADGATE_ADMIN_TOKEN: '' })).toThrow(
        'set HEADGATE_ADMIN_TOKEN',
      );
    },
  );

  test.each([
    '127.0.0.1',
    '127.8.8.8',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    'localhost',
    'LocalHost',
  ])('is not at %s, which is loopback', (opsHost) => {
    expect(readEnvironment({ HEADGATE_OPS_HOST: opsHost })).toMatchObject({
      opsHost,
      adminToken: undefined,
    });
  });

  test('without a token is one mistake, and an invalid token is another', () => {
    const variables = { HEADGATE_OPS_HOST: '0.0.0.0', HEADGATE_ADMIN_TOKEN: 'short' };
    expect(() => readEnvironment(variables)).toThrow(/^HEADGATE_ADMIN_TOKEN: must be at least.*$/);
  });

  test('needs a token in a worker too', () => {
    const redis = { HEADGATE_REDIS_URL: 'redis://127.0.0.1' };
    const worker = { HEADGATE_WORKERS: '2', HEADGATE_WORKER: '1', HEADGATE_OPS_HOST: '0.0.0.0' };
    expect(() => readEnvironment({ ...redis, ...worker })).toThrow('HEADGATE_OPS_HOST: ');
    expect(readEnvironment({ ...redis, ...worker, ...token }).worker).toBe(1);
  });
});

test('reports every invalid variable at once', () => {
  const variables = {
    HEADGATE_PORT: 'abc',
    HEADGATE_OPS_PORT: '70000',
    HEADGATE_LOG_LEVEL: 'loud',
  };
  expect(() => readEnvironment(variables)).toThrow(
    new ConfigError([
      'HEADGATE_PORT: must be a port from 0 to 65535, or off, not "abc"',
      'HEADGATE_OPS_PORT: must be a port from 0 to 65535, not "70000"',
      'HEADGATE_LOG_LEVEL: must be one of trace, debug, info, warn, error, fatal, silent, not "loud"',
    ]),
  );
});

test('a unix socket disables the gRPC port unless the port is set', () => {
  const socket = { HEADGATE_LISTEN: 'unix:/run/headgate.sock' };
  expect(readEnvironment(socket)).toMatchObject({
    socket: '/run/headgate.sock',
    grpcPort: undefined,
  });
  expect(readEnvironment({ ...socket, HEADGATE_GRPC_PORT: '9090' }).grpcPort).toBe(9090);
  expect(readEnvironment({ HEADGATE_GRPC_PORT: 'off' }).grpcPort).toBeUndefined();
  expect(() => readEnvironment({ HEADGATE_LISTEN: '127.0.0.1:80' })).toThrow(
    'HEADGATE_LISTEN: must be unix: and a path; for an address, set HEADGATE_HOST and HEADGATE_PORT',
  );
});

test('the page of the ops server can be turned off', () => {
  expect(readEnvironment({ HEADGATE_UI: 'off' }).ui).toBe(false);
  expect(readEnvironment({ HEADGATE_UI: 'on' }).ui).toBe(true);
  const read = () => readEnvironment({ HEADGATE_UI: 'false' });
  expect(read).toThrow('HEADGATE_UI: must be on or off, not "false"');
});

test('HEADGATE_REDIS_URL wins over REDIS_URL', () => {
  const both = { HEADGATE_REDIS_URL: 'redis://a:1', REDIS_URL: 'redis://b:2' };
  expect(readEnvironment(both).redis?.addresses).toEqual([{ host: 'a', port: 1 }]);
  expect(readEnvironment({ REDIS_URL: 'redis://b:2' }).redis?.addresses[0].host).toBe('b');
});

test('an invalid Redis URL is reported with the name of its variable', () => {
  const read = () => readEnvironment({ REDIS_URL: 'localhost:6379' });
  expect(read).toThrow('REDIS_URL: must be a URL such as');
});

test('ignores the HEADGATE_PORT that Kubernetes sets for a Service called headgate', () => {
  expect(readEnvironment({ HEADGATE_PORT: 'tcp://10.0.0.1:8080' }).port).toBe(8080);
});

test('TLS on the gRPC port is set as a whole', () => {
  const [HEADGATE_GRPC_TLS_CERT, HEADGATE_GRPC_TLS_KEY] = ['/tls.crt', '/tls.key'];
  const mistakesOf = (given: NodeJS.ProcessEnv) => {
    try {
      readEnvironment(given);
    } catch (error) {
      return (error as ConfigError).mistakes.map((line) => line.split(':')[0]);
    }
    return [];
  };
  const pair = { HEADGATE_GRPC_TLS_CERT, HEADGATE_GRPC_TLS_KEY };
  const [ca, name] = [
    { HEADGATE_GRPC_TLS_CLIENT_CA: '/ca' },
    { HEADGATE_GRPC_TLS_CLIENT_NAME: 'a' },
  ];
  expect(mistakesOf({ ...pair, ...ca, ...name })).toEqual([]);
  expect(mistakesOf({ HEADGATE_GRPC_TLS_CERT })).toEqual(['HEADGATE_GRPC_TLS_KEY']);
  expect(mistakesOf({ HEADGATE_GRPC_TLS_KEY })).toEqual(['HEADGATE_GRPC_TLS_CERT']);
  expect(mistakesOf(ca)).toEqual(['HEADGATE_GRPC_TLS_CERT']);
  expect(mistakesOf({ ...pair, ...name })).toEqual(['HEADGATE_GRPC_TLS_CLIENT_CA']);
});

describe('files for TLS to Redis', () => {
  const url = { HEADGATE_REDIS_URL: 'rediss://redis' };
  const pair = { HEADGATE_REDIS_TLS_CERT: 'a.crt', HEADGATE_REDIS_TLS_KEY: 'a.key' };

  test('are a part of the target', () => {
    expect(readEnvironment({ ...url, ...pair, HEADGATE_REDIS_TLS_CA: 'ca.crt' }).redis).toEqual({
      ...readEnvironment(url).redis,
      tlsFiles: { ca: 'ca.crt', certificate: 'a.crt', key: 'a.key' },
    });
    expect(readEnvironment(url).redis).not.toHaveProperty('tlsFiles');
  });

  test.each([
    [
      { ...url, HEADGATE_REDIS_TLS_CERT: 'a.crt' },
      'HEADGATE_REDIS_TLS_KEY: is not set; a certificate for Redis needs its key',
    ],
    [
      { ...url, HEADGATE_REDIS_TLS_KEY: 'a.key' },
      'HEADGATE_REDIS_TLS_CERT: is not set; a certificate for Redis needs its key',
    ],
    [
      { ...pair, HEADGATE_REDIS_URL: 'redis://redis' },
      'HEADGATE_REDIS_TLS_CERT: the URL of Redis is without TLS, write rediss in place of redis',
    ],
  ])('%j is a mistake', (variables, mistake) => {
    expect(() => readEnvironment(variables)).toThrow(new ConfigError([mistake]));
  });
});
