/** A gateway whose limits come from a control plane. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readLastGood } from '../../src/gateway/ratelimit/control-plane/last-good.ts';
import { limits, NODE_ID, resourceOf, startControlPlane } from '../support/control-plane.ts';
import { eventually, waitUntil } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { metric } from '../support/metrics.ts';
import { connectRateLimit, descriptor } from '../support/rate-limits.ts';

const settings = (port: number, lastGood: string) => ({
  HEADGATE_PORT: 'off',
  HEADGATE_GRPC_PORT: '0',
  HEADGATE_RATELIMIT_HTTP_PORT: '0',
  HEADGATE_RATELIMIT_CONTROL_PLANE: `127.0.0.1:${port}`,
  HEADGATE_RATELIMIT_NODE: NODE_ID,
  HEADGATE_RATELIMIT_LAST_GOOD: lastGood,
});

test('obeys the last good limits of the control plane, also after a restart without it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-last-good-'));
  await using _folder = { [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }) };
  const plane = await startControlPlane();
  const lastGood = join(folder, 'limits.json');
  const env = settings(plane.port, lastGood);
  const gateway = await startGateway(env);
  const limitAt = async (grpcPort: number) => {
    using client = connectRateLimit(grpcPort);
    const descriptors = [descriptor({ client: 'x' })];
    const { code, message } = await client.ask({ domain: 'shop', descriptors });
    return message?.statuses[0]?.current_limit?.requests_per_unit ?? `code ${code}`;
  };
  const limit = () => limitAt(gateway.grpcPort);
  const jsonUrl = /json +(http:\S+)\/json/.exec(gateway.output())?.[1] ?? '';
  // Nothing was loaded: Envoy decides by its failure mode, and the gateway is not healthy.
  expect(await limit()).toBe('code 14');
  expect((await call(jsonUrl, '/healthcheck')).status).toBe(500);

  plane.serve('1', [resourceOf(limits('shop', 3))]);
  await eventually(limit, (found) => found === 3);
  expect((await call(jsonUrl, '/healthcheck')).status).toBe(200);
  plane.serve('2', [resourceOf({ name: 'shop', domain: '', descriptors: [{ key: '' }] })]);
  const refused = await plane.request(({ error_detail }) => error_detail !== null);
  expect(refused.error_detail?.message).toMatch(/domain.*must not be empty|domain.*missing/);
  expect(await limit()).toBe(3);
  expect(await metric(gateway, 'headgate_ratelimit_last_reload_successful')).toBe(0);
  plane.serve('3', [resourceOf(limits('shop', 5))]);
  await eventually(limit, (found) => found === 5);

  // A busy disk takes seconds, and calls have the limits before.
  await waitUntil('the limits are kept', async () => readLastGood(lastGood).version === '3');
  await gateway.stop();
  await plane[Symbol.asyncDispose]();
  await using restarted = await startGateway(env);
  await eventually(
    () => limitAt(restarted.grpcPort),
    (found) => found === 5,
  );
  await restarted.printed(/last_good_rate_limits_used/);
  expect(await metric(restarted, 'headgate_ratelimit_control_plane_connected')).toBe(0);
});
