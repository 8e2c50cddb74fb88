/** If a proxy does not pass on the header that identifies clients, the gateway reports it and says what to do. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, startGatewayProcess } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { startNginx } from '../support/proxies.ts';
import { redisIsHere, startRedis } from '../support/redis.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const DOUBT_AFTER = 1_000;
const AT_ONCE = 20;
const CUSTOMERS = ['anna', 'bert', 'cleo', 'dora', 'emil'];
const PASSED_ON = {
  'proxy_set_header X-Api-Key $http_x_api_key;':
    'proxy_set_header Authorization $http_authorization;',
};

const policiesWith = (header: string) => `
version: 1
identity: { sources: [api_key, cf_connecting_ip, ip], api_key: { header: ${header} } }
default: { limits: [100000/1h] }
`;

let stack: AsyncDisposableStack;
let policies: string;
let upstream: Upstream;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  const folder = temporaryFolder(stack);
  policies = join(folder, 'policies.yaml');
  upstream = stack.use(await startUpstream());
});
afterEach(() => stack.disposeAsync());

/** The settings of a gateway whose policy file reads keys from this header. */
function settingsWith(header: string): NodeJS.ProcessEnv {
  writeFileSync(policies, policiesWith(header));
  return { HEADGATE_POLICIES: policies };
}

/** Requests of five customers in turn. */
async function visits(
  url: string,
  times: number,
  headersOf: (customer: string) => Record<string, string>,
  path = '/a',
) {
  for (let i = 0; i < times; i += AT_ONCE) {
    const answers = Array.from({ length: Math.min(AT_ONCE, times - i) }, (_, j) =>
      call(url, path, { headers: headersOf(CUSTOMERS[(i + j) % CUSTOMERS.length] ?? '') }),
    );
    for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
  }
}
/** Some requests may not be counted: on a busy machine NGINX passes them without a check. */
async function visitsUntil(printed: RegExp, gateway: Gateway, visit: () => Promise<void>) {
  await eventually(visit, () => printed.test(gateway.output()), 50_000);
}

const byToken = (customer: string) => ({ authorization: `Bearer ${customer}-token` });
const byKey = (customer: string) => ({ 'x-api-key': `${customer}-key` });

const readiness = async ({ opsUrl }: Gateway) => {
  const { status, body } = await call(opsUrl, '/readyz');
  return { code: status, ...JSON.parse(body) };
};
const gauge = async ({ opsUrl }: Gateway) =>
  (await call(opsUrl, '/metrics')).body.match(/^headgate_header_unseen\{.*$/gm) ?? [];
const stats = async ({ opsUrl }: Gateway) =>
  (await runCommand(['stats', '--gateway', opsUrl])).stdout;

test.skipIf(inject('programs').nginx === undefined)(
  'reports a header of the policy file that NGINX as shipped does not pass on, until it arrives',
  async () => {
    const gateway = stack.use(await startGatewayProcess(settingsWith('authorization')));
    const behind = { application: upstream.port, headgate: gateway.port };
    const shipped = stack.use(await startNginx(behind));
    await visits(shipped.url, DOUBT_AFTER / 2, byToken);
    expect(await readiness(gateway)).toEqual({ code: 200, status: 'ok' });
    await visitsUntil(/"event":"header_unseen"/, gateway, () => visits(shipped.url, 100, byToken));

    expect(gateway.output()).toContain(
      '"dialect":"nginx","header":"authorization","requests":1000,"msg":"none of 1000 requests through nginx had authorization: if clients send it, the proxy does not pass it on, and they share limits; pass the header on, as the configuration from headgate proxy-config nginx --policies FILE does; if no client sends it, remove it from the policy file"',
    );
    expect(await gauge(gateway)).toEqual([
      'headgate_header_unseen{dialect="nginx",header="authorization"} 1',
    ]);
    expect(await readiness(gateway)).toEqual({
      code: 200,
      status: 'ok',
      unseen_headers: [{ dialect: 'nginx', header: 'authorization' }],
    });
    expect(await stats(gateway)).toMatch(
      /^doubt +none of \d+ requests through nginx had authorization: if clients send it, the proxy does not pass it on$/m,
    );

    // Another NGINX has the corrected file, which passes the header on.
    const corrected = stack.use(await startNginx({ ...behind, changes: PASSED_ON }));
    const seen = /"event":"header_seen","dialect":"nginx","header":"authorization"/;
    await visitsUntil(seen, gateway, () => visits(corrected.url, CUSTOMERS.length, byToken));
    expect(await gauge(gateway)).toEqual([
      'headgate_header_unseen{dialect="nginx",header="authorization"} 0',
    ]);
    expect(await readiness(gateway)).toEqual({ code: 200, status: 'ok' });
    expect(await stats(gateway)).not.toContain('doubt');

    // The shipped file does not pass on the header of the new policy file either.
    writeFileSync(policies, policiesWith('x-customer'));
    await gateway.printed(/"event":"policies_loaded"/);
    expect(await gauge(gateway)).toEqual([]);
    const again = /"event":"header_unseen".*"header":"x-customer"/;
    await visitsUntil(again, gateway, () => visits(shipped.url, 100, byKey));
    expect(gateway.output().match(/"event":"header_unseen"/g)).toHaveLength(2);
  },
  120_000,
);

test.skipIf(inject('programs').nginx === undefined)(
  'reports nothing about NGINX with the header of the shipped policy file',
  async () => {
    const gateway = stack.use(await startGateway(settingsWith('x-api-key')));
    const behind = { application: upstream.port, headgate: gateway.port };
    const shipped = stack.use(await startNginx(behind));
    await visits(shipped.url, 20, byKey);
    await visits(shipped.url, DOUBT_AFTER + 100, () => ({}));
    expect(gateway.output()).not.toContain('header_unseen');
    expect(await gauge(gateway)).toEqual([]);
  },
  90_000,
);

test.skipIf(!redisIsHere)(
  'reports the header from each worker, and once for all of them',
  async () => {
    const redis = stack.use(await startRedis());
    const gateway = stack.use(
      await startGatewayProcess({
        ...settingsWith('authorization'),
        HEADGATE_REDIS_URL: redis.url,
        HEADGATE_WORKERS: '2',
      }),
    );
    const nginx = { 'x-original-method': 'GET', 'x-original-uri': '/a', 'x-real-ip': '192.0.2.1' };
    await eventually(
      async () => {
        await visits(gateway.url, 500, () => nginx, '/nginx');
        return gateway.output().match(/"event":"header_unseen"/g) ?? [];
      },
      (lines) => lines.length === 2,
      60_000,
    );
    expect(await gauge(gateway)).toEqual([
      'headgate_header_unseen{dialect="nginx",header="authorization"} 2',
    ]);
    expect(await readiness(gateway)).toMatchObject({
      unseen_headers: [{ dialect: 'nginx', header: 'authorization' }],
    });
  },
);
