/** `headgate ratelimit` with a control plane that has no limits yet, as Envoy Gateway without a Gateway. */
import { afterEach, describe, expect, test } from 'vitest';
import {
  type ControlPlane,
  limits,
  resourceOf,
  startControlPlane,
} from '../support/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { call } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { connectRateLimit, descriptor } from '../support/rate-limits.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

const UNAVAILABLE = 14;
const FORCED = { FORCE_START_WITHOUT_INITIAL_CONFIG: 'true' };

const started: AsyncDisposable[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each[Symbol.asyncDispose]()));
});

interface Service {
  readonly plane: ControlPlane;
  readonly running: RunningProcess;
  health(): Promise<number | undefined>;
  /** The overall code, or the code of gRPC if the call failed. */
  answer(domain?: string): Promise<string | number | undefined>;
}

async function start(env: NodeJS.ProcessEnv): Promise<Service> {
  const plane = await startControlPlane();
  const [json, grpc, ops] = [await freePort(), await freePort(), await freePort()];
  const { PATH, HOME } = process.env;
  const places = { HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1', DEBUG_HOST: '127.0.0.1' };
  const ports = { PORT: String(json), GRPC_PORT: String(grpc), DEBUG_PORT: String(ops) };
  const running = startProcess(NODE, [MAIN, 'ratelimit'], {
    env: {
      ...{ PATH, HOME, HEADGATE_DRAIN_MS: '0' },
      ...{ ...places, ...ports },
      CONFIG_TYPE: 'GRPC_XDS_SOTW',
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${plane.port}`,
      CONFIG_GRPC_XDS_NODE_ID: 'envoy-ratelimit',
      ...env,
    },
  });
  started.push(plane, running);
  await running.printed(/ {2}store .*\n/);
  return {
    plane,
    running,
    health: async () => (await call(`http://127.0.0.1:${json}`, '/healthcheck')).status,
    async answer(domain = 'shop') {
      using client = connectRateLimit(grpc);
      const { code, message } = await client.ask({
        domain,
        descriptors: [descriptor({ client: 'x' })],
      });
      return message?.overall_code ?? code;
    },
  };
}

/** With a limit of 0, calls are over it. */
async function expectLimits({ plane, health, answer }: Service): Promise<void> {
  plane.serve('1', [resourceOf(limits('shop', 0))]);
  await eventually(answer, (found) => found === 'OVER_LIMIT');
  expect([await health(), await answer('other')]).toEqual([200, 'OK']);
}

describe('before the control plane has sent limits', () => {
  test('a forced start is healthy, and calls fail', async () => {
    const service = await start(FORCED);
    await service.plane.request(() => true);
    expect([await service.health(), await service.answer()]).toEqual([200, UNAVAILABLE]);
    await service.running.printed(/"event":"rate_limits_missing".*"calls":"fail"/);
    expect(await service.health()).toBe(200);
    await expectLimits(service);
  });

  test('with HEADGATE_RATELIMIT_BEFORE_LIMITS=allow it is healthy, and calls pass', async () => {
    const service = await start({ HEADGATE_RATELIMIT_BEFORE_LIMITS: 'allow' });
    await service.plane.request(() => true);
    expect([await service.health(), await service.answer()]).toEqual([200, 'OK']);
    await service.running.printed(/"event":"rate_limits_missing".*"calls":"pass"/);
    await expectLimits(service);
  });

  test.each<NodeJS.ProcessEnv>([
    {},
    { ...FORCED, HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: 'true' },
  ])('it is unhealthy, and calls fail, with %j', async (env) => {
    const service = await start(env);
    await service.plane.request(() => true);
    expect([await service.health(), await service.answer()]).toEqual([500, UNAVAILABLE]);
    await expectLimits(service);
  });

  test('limits with mistakes are refused: there are still none', async () => {
    const service = await start(FORCED);
    service.plane.serve('1', [resourceOf({ name: 'shop', domain: '' })]);
    await service.plane.request(({ error_detail }) => error_detail !== null);
    expect([await service.health(), await service.answer()]).toEqual([200, UNAVAILABLE]);
    await service.running.printed(/"event":"rate_limits_refused"/);
    await service.running.printed(/"event":"rate_limits_missing"/);
  });
});

test('the control plane gets the headers and the metadata of the node', async () => {
  const { plane, running } = await start({
    CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: 'Authorization:Bearer secret-1234, x-team:shop',
    CONFIG_GRPC_XDS_NODE_METADATA: 'zone=a=b,team=shop,none',
  });
  const { node } = await plane.request(() => true);
  expect(node).toMatchObject({
    id: 'envoy-ratelimit',
    metadata: { fields: { zone: { stringValue: 'a=b' }, team: { stringValue: 'shop' } } },
  });
  expect(plane.metadata[0]).toMatchObject({
    authorization: 'Bearer secret-1234',
    'x-team': 'shop',
  });
  expect(running.output()).toContain(
    'CONFIG_GRPC_XDS_NODE_METADATA: not sent, because it is no key=value: "none"',
  );
  expect(running.output()).not.toContain('secret-1234');
});

test('a control plane may send more than 4 MiB', async () => {
  const { plane, answer } = await start(FORCED);
  const rate_limit = { unit: 'HOUR', requests_per_unit: 0 };
  const long = 'x'.repeat(1_000);
  const descriptors = Array.from({ length: 5_000 }, (_, i) => ({
    ...{ key: 'client', value: `${i}${long}`, rate_limit },
  }));
  const any = { key: 'client', rate_limit };
  plane.serve('1', [
    resourceOf({ name: 'shop', domain: 'shop', descriptors: [...descriptors, any] }),
  ]);
  await eventually(answer, (found) => found === 'OVER_LIMIT', 15_000);
});
