/**
 * docs/recipes/nested-budgets.md through Envoy, with its policy file and its filter: a key, its team and its organisation
 * have a budget each, and Redis charges all of them or none.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, inject, test } from 'vitest';
import { type Gateway, PATIENT, startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { operate } from '../support/operations.ts';
import { blocksOf } from '../support/page.ts';
import { proxyConfigOf } from '../support/proxy-config.ts';
import { isHere, PROXY_STARTS } from '../support/proxy-starts.ts';
import { redisIsHere, startRedis } from '../support/redis.ts';
import { temporaryFile } from '../support/temporary.ts';
import { startUpstream } from '../support/upstream.ts';

const PAGE = readFileSync(new URL('../../docs/recipes/nested-budgets.md', import.meta.url), 'utf8');
const block = (start: string) => blocksOf(PAGE).find(({ text }) => text.startsWith(start))?.text;
const POLICIES = block('version: 1\n') ?? '';
const FILTER = block('- name: owners\n') ?? '';

/** What the page tells readers to do with the printed file. */
function withOwners(printed: string): string {
  const filter = FILTER.replaceAll(/^(?=.)/gm, ' '.repeat(18)).trim();
  const changed = printed
    .replaceAll(/#(- \{ exact: x-(org|team),)/g, '$1')
    .replace('- name: headgate.ext_authz\n', (next) => `${filter}\n${' '.repeat(18)}${next}`);
  expect(changed.match(/^ *- \{ exact: x-(org|team),/gm)).toHaveLength(2);
  expect(changed).toContain('local owners = {\n');
  return changed;
}

/** `remain/limit` of key, team and organisation. */
async function left(gateway: Gateway, id: string, team: string): Promise<string[]> {
  const headers = { 'x-api-key': `${id}-example-key`, 'x-org': 'acme', 'x-team': team };
  const asked = { url: '/v1/search', headers, client: '127.0.0.1' };
  const { answer } = await operate<{ steps: readonly { what: string }[] }>(
    gateway,
    'POST /v1/explain',
    asked,
  );
  return answer.steps.flatMap(({ what }) => {
    const [, remaining, limit] = / (\d+) of (\d+) remain/.exec(what) ?? [];
    return limit === undefined ? [] : [`${remaining}/${limit}`];
  });
}

const envoys = PROXY_STARTS.filter(({ name }) => name.startsWith('envoy'));

describe.each(envoys)('$name', ({ name, program, start }) => {
  test.skipIf(!redisIsHere || !isHere({ program }, inject('programs')))(
    'charges key, team and organisation, all or none',
    { timeout: 120_000 },
    async () => {
      await using lab = new AsyncDisposableStack();
      const redis = lab.use(await startRedis());
      const gateway = lab.use(
        await startGateway({
          ...PATIENT,
          HEADGATE_POLICIES: temporaryFile(lab, POLICIES),
          HEADGATE_REDIS_URL: redis.url,
          HEADGATE_GRPC_PORT: '0',
        }),
      );
      const upstream = lab.use(await startUpstream());
      const proxy = lab.use(
        await start({
          application: upstream.port,
          headgate: gateway.port,
          grpc: gateway.grpcPort,
          text: withOwners(proxyConfigOf(name, POLICIES)),
        }),
      );
      const search = (id: string, { path = '/v1/search', headers = {} } = {}) =>
        call(proxy.url, path, { headers: { 'x-api-key': `${id}-example-key`, ...headers } });
      const passed = (times: number) => Array.from({ length: times }, () => 200);
      const deniedBy = (limit: number) => ({
        status: 429,
        headers: { 'x-ratelimit-limit': String(limit) },
      });

      // One budget for both routes, whatever organisation the client names.
      const asGlobex = { headers: { 'x-org': 'globex', 'X-Team': 'globex/web' } };
      expect(await statuses(60, () => search('shop', asGlobex))).toEqual(passed(60));
      expect(await statuses(40, () => search('shop', { path: '/V2/search' }))).toEqual(passed(40));
      expect(await search('shop')).toMatchObject(deniedBy(100));
      const owners = upstream.seen.map(({ headers }) => `${headers['x-org']} ${headers['x-team']}`);
      expect(new Set(owners)).toEqual(new Set(['acme acme/web']));

      expect(await statuses(50, () => search('batch'))).toEqual(passed(50));
      expect(await search('batch')).toMatchObject(deniedBy(150));
      expect(await statuses(50, () => search('mobile'))).toEqual(passed(50));

      // The organisation is out. Denied requests take nothing from keys and teams.
      const before = await left(gateway, 'mobile', 'acme/mobile');
      expect(before).toEqual(['50/100', '100/150', '0/200']);
      for (let i = 0; i < 20; i++) expect(await search('mobile')).toMatchObject(deniedBy(200));
      expect(await left(gateway, 'mobile', 'acme/mobile')).toEqual(before);
      expect(await left(gateway, 'batch', 'acme/web')).toEqual(['50/100', '0/150', '0/200']);

      // Nobody gets the budget of an organisation by naming it, or by an invented key.
      const invented = await search('invented', { headers: { 'x-org': 'acme' } });
      expect(invented).toMatchObject({ status: 200, headers: { 'x-ratelimit-limit': '5' } });
      expect(upstream.seen.at(-1)?.headers).not.toHaveProperty('x-org');
    },
  );
});
