/** Real proxies with the files that `headgate proxy-config` prints for a policy file other than the shipped one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { PROXIES } from '../../src/cli/proxy-files/print/proxy-config.ts';
import { startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { startNginx } from '../support/proxies.ts';
import { proxyConfigOf } from '../support/proxy-config.ts';
import { COMPLETE_PROXIES, isHere } from '../support/proxy-starts.ts';
import { startUpstream } from '../support/upstream.ts';

const SECRET = 'a-secret-of-this-test';
const TOKENS = ['one', 'two', 'three', 'four', 'five'];
/** Every token has its own counter: the factor makes the limit of their address large enough. */
const POLICIES = `
version: 1
identity: { sources: [api_key, user, ip], api_key: { header: authorization, unverified_factor: 100 } }
default: { limits: [2/1h] }
policies:
  - { name: tenants, match: { path: /tenants }, limits: [{ rate: 3/1h, per: "header:x-tenant" }] }
  - { name: api, match: { path: "/api/*", host: "*.example.com" }, limits: [9/1h], on_gateway_failure: deny }
  - { name: status, match: { path: /api/status, host: api.example.com }, limits: [9/1h] }
`;

const folder = mkdtempSync(join(tmpdir(), 'headgate-proxy-config-'));
const policyFile = join(folder, 'policies.yaml');
writeFileSync(policyFile, POLICIES);
afterAll(() => rmSync(folder, { recursive: true }));

const written = COMPLETE_PROXIES.filter(({ name }) => PROXIES.includes(name));

describe.each(written)('$name', ({ name, program, start }) => {
  test.skipIf(!isHere({ program }, inject('programs')))(
    'sends every header that the policy file reads, and refuses requests while the gateway is down',
    async () => {
      await using gateway = await startGateway({
        HEADGATE_POLICIES: policyFile,
        HEADGATE_PROXY_SECRET: SECRET,
        ...(name === 'envoy-grpc' && { HEADGATE_GRPC_PORT: '0' }),
      });
      await using upstream = await startUpstream();
      await using proxy = await start({
        application: upstream.port,
        headgate: gateway.port,
        grpc: gateway.grpcPort,
        text: proxyConfigOf(name, POLICIES, { sendsSecret: true }).replace(
          '"the secret"',
          `"${SECRET}"`,
        ),
        ...(name === 'caddy' && { secret: SECRET }),
      });

      for (const token of TOKENS) {
        const headers = { Authorization: `Bearer ${token}` };
        expect(await statuses(3, () => call(proxy.url, '/a', { headers }))).toEqual([
          200, 200, 429,
        ]);
      }
      // A client cannot name its user, so its address counts. The tokens have used up the limit of the address.
      const claims = (i: number) => call(proxy.url, '/b', { headers: { 'X-User': `u${i}` } });
      expect(await statuses(3, claims)).toEqual([429, 429, 429]);
      const tenant = (id: string) => () =>
        call(proxy.url, '/tenants', { headers: { 'X-Tenant': id } });
      expect(await statuses(4, tenant('a'))).toEqual([200, 200, 200, 429]);
      expect((await tenant('b')()).status).toBe(200);

      await gateway.stop();
      const get = async (path: string, host: string) =>
        (await call(proxy.url, path, { headers: { Host: host } })).status;
      expect(await get('/api/a', 'www.example.com')).toBe(503);
      expect(await get('/api/a', 'api.example.com:80')).toBe(503);
      expect(await get('/api/status/a', 'api.example.com')).toBe(503);
      expect(await get('/api/status', 'www.example.com')).toBe(503);
      expect(await get('/x/../api/%61', 'api.example.com')).toBe(503);
      expect(await get('/api/status', 'api.example.com')).toBe(200);
      expect(await get('/api/a', 'example.org')).toBe(200);
      expect(await get('/other', 'www.example.com')).toBe(200);
    },
  );
});

test.skipIf(inject('programs').nginx === undefined)(
  'five tokens share one counter behind the shipped file of NGINX',
  async () => {
    await using gateway = await startGateway({ HEADGATE_POLICIES: policyFile });
    await using upstream = await startUpstream();
    await using proxy = await startNginx({ application: upstream.port, headgate: gateway.port });
    const send = (i: number) =>
      call(proxy.url, '/a', { headers: { Authorization: `Bearer ${TOKENS[i]}` } });
    expect(await statuses(5, send)).toEqual([200, 200, 429, 429, 429]);
  },
);
