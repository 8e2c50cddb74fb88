/**
 * Commands of operators in a container that runs headgate in the place of envoyproxy/ratelimit. They are processes of
 * their own, which see only the variables of the container.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandResult, runCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { call, statuses } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { redisIsHere, startRedis } from '../support/redis.ts';
import { type DropInContainer, startDropInContainer } from './support/drop-in.ts';

const RULES = `
domain: edge
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 2 }
`;
const HAS = /a gateway has it$/;
const TOKEN = 'the-token-of-all-operators';

interface Finding {
  readonly id: string;
  readonly severity: string;
}

const asJson = (user: string) => ({
  method: 'POST',
  body: JSON.stringify({
    domain: 'edge',
    descriptors: [{ entries: [{ key: 'user', value: user }] }],
  }),
});

/** As `kubectl exec` runs it; `input` makes it a process. */
const exec = ({ env }: DropInContainer, args: readonly string[]): Promise<CommandResult> =>
  runCommand(args, { env, input: '' });

describe.skipIf(!redisIsHere)('with Redis', () => {
  const started = new AsyncDisposableStack();
  let container: DropInContainer;
  beforeAll(async () => {
    const redis = started.use(await startRedis());
    container = started.use(
      await startDropInContainer(RULES, {
        REDIS_SOCKET_TYPE: 'tcp',
        REDIS_URL: new URL(redis.url).host,
        HEADGATE_ADMIN_TOKEN: TOKEN,
        HEADGATE_STORE_TIMEOUT_MS: '10000',
      }),
    );
    await eventually(
      () => exec(container, ['stats', '-o', 'json']),
      ({ stdout }) => stdout.includes('"store": "redis"') && stdout.includes('"version"'),
      100_000,
      'a gateway that counts in Redis',
    );
    const ask = () => call(container.jsonUrl, '/json', asJson('a'));
    expect(await statuses(3, ask)).toEqual([200, 200, 429]);
  });
  afterAll(() => started.disposeAsync());

  const done = async (...args: string[]) => {
    const { code, stdout, stderr } = await exec(container, args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };

  test.each<[string[], RegExp]>([
    [['healthcheck'], /^$/],
    [['healthcheck', '--ready'], /^$/],
    [['policies', 'list'], /edge\.user/],
    [['stats'], /store +redis/],
    [['clients', 'top'], /edge\.user/],
    [['top', '--once'], /edge\.user/],
    [['overrides'], /./],
  ])('headgate %j asks the gateway of the container', async (args, said) => {
    expect(await done(...args)).toMatch(said);
  });

  test('headgate check examines the files of the container, and its Redis', async () => {
    expect(await done('check')).toContain(`${container.folder}/rules.yaml: fine`);
    expect(await done('check', '--strict')).toContain('rules.yaml: fine');
    expect(await done('check', '--redis')).toContain(container.env.REDIS_URL ?? '-');
  });

  test('headgate explain finds the denial of an id, and the limit of a descriptor', async () => {
    const { body } = await call(container.jsonUrl, '/json', asJson('a'));
    const [, id = ''] = /"X-RateLimit-Decision-Id","value":"([\w-]+)"/.exec(body) ?? [];
    expect(await done('explain', id)).toContain('edge.user');
    expect(await done('explain', '--domain', 'edge', 'user=a')).toContain('edge.user');
  });

  test('headgate doctor finds the gateway, its ports and its Redis, and no mistakes', async () => {
    const { findings } = JSON.parse(await done('doctor', '-o', 'json'));
    const { GRPC_PORT: grpc, DEBUG_PORT: ops, REDIS_URL: redis } = container.env;
    expect(findings).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          subject: `127.0.0.1:${grpc}`,
          problem: expect.stringMatching(HAS),
        }),
        expect.objectContaining({
          subject: `127.0.0.1:${ops}`,
          problem: expect.stringMatching(HAS),
        }),
        expect.objectContaining({ subject: `redis ${redis}`, problem: 'requests are counted' }),
      ]),
    );
    // The Redis of the test has no password.
    const bad = findings.filter(
      ({ id, severity }: Finding) =>
        severity === 'error' || (severity === 'warning' && id !== 'redis-warning'),
    );
    expect(bad).toEqual([]);
  });

  test('commands that read files only are not disturbed by its variables', async () => {
    expect(await done('test', 'config')).toContain('passed');
    expect(await done('proxy-config', 'nginx', '--gateway', '127.0.0.1:8080')).toContain(
      'auth_request',
    );
  });
});

test('with USE_PROMETHEUS, the health check asks the port of metrics', async () => {
  await using container = await startDropInContainer(RULES, { USE_PROMETHEUS: 'true' });
  expect(await exec(container, ['healthcheck', '--ready'])).toMatchObject({ code: 0, stderr: '' });
  await container.running.stop();
  expect(await exec(container, ['healthcheck'])).toMatchObject({
    code: 1,
    stderr: `headgate: http://${container.env.PROMETHEUS_ADDR}/livez did not answer\n`,
  });
});

test('without a token, commands say which variable the container lacks', async () => {
  await using container = await startDropInContainer(RULES);
  expect(await exec(container, ['clients', 'top'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^headgate: HEADGATE_ADMIN_TOKEN is not set: set it for the/),
  });
});

test.each([
  ['GRPC_PORT', 'HEADGATE_GRPC_PORT'],
  ['PORT', 'HEADGATE_RATELIMIT_HTTP_PORT'],
  ['DEBUG_PORT', 'HEADGATE_OPS_PORT'],
])('with %s taken, headgate ratelimit says which setting to change', async (theirs, ours) => {
  await using container = await startDropInContainer(RULES);
  const env = {
    ...container.env,
    PORT: String(await freePort()),
    GRPC_PORT: String(await freePort()),
    DEBUG_PORT: String(await freePort()),
    [theirs]: container.env[theirs],
    REDIS_URL: '127.0.0.1:1',
  };
  const { code, stderr } = await runCommand(['ratelimit'], { env, input: '' });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(new RegExp(`is taken, .* port with ${ours}\\n$`)),
  });
});
