/**
 * docs/recipes/plans-from-a-token.md through Envoy, with its policy file and its filters: the claims of a token, by
 * metadata and by headers, give a user and a plan, and nothing else that a client sends does.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, inject, test } from 'vitest';
import { examineProxyFile } from '../../src/cli/proxy-files/read/examine-files.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { PATIENT, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { blocksOf } from '../support/page.ts';
import { ENVOYS, startEnvoy, startEnvoyGrpc } from '../support/proxies.ts';
import { proxyConfigOf, validFile } from '../support/proxy-config.ts';
import { temporaryFile } from '../support/temporary.ts';
import { startUpstream } from '../support/upstream.ts';
import { tokenIssuer } from './support/signed-tokens.ts';

const PAGE = readFileSync(
  new URL('../../docs/recipes/plans-from-a-token.md', import.meta.url),
  'utf8',
);
const block = (start: string) =>
  blocksOf(PAGE).find(({ text }) => text.startsWith(start))?.text ?? '';
const BY_METADATA = block('version: 1\n');
const BY_HEADERS = BY_METADATA.replace(/^identity:\n(?: .*\n)*/m, block('identity:\n'));

const issuer = tokenIssuer();
const forger = tokenIssuer();
const KEYS = /\{ filename: \/etc\/envoy\/jwks\.json \}(.*)/;
const CHECK = '                  - name: headgate.ext_authz\n';

/** What the page tells readers to do with the printed file. The keys are those of this test. */
function withFilters(printed: string, filters: string): string {
  const own = filters
    .replace(KEYS, `{ inline_string: ${JSON.stringify(issuer.jwks)} }`)
    .replaceAll(/^(?=.)/gm, ' '.repeat(18));
  expect(own).toContain('inline_string');
  expect(printed).toContain(CHECK);
  return printed
    .replaceAll(/#(- \{ exact: x-(user|plan),)/g, '$1')
    .replace(CHECK, () => own + CHECK);
}

const variants = [
  {
    variant: 'metadata',
    name: 'envoy-grpc',
    start: startEnvoyGrpc,
    policies: BY_METADATA,
    filters: block('- name: tokens\n'),
  },
  {
    variant: 'headers',
    name: 'envoy',
    start: startEnvoy,
    policies: BY_HEADERS,
    filters: block('- name: own_headers\n'),
  },
] as const;

describe.each(ENVOYS)('%s', (program) => {
  describe.each(variants)('by $variant', ({ variant, name, start, policies, filters }) => {
    test.skipIf(inject('programs')[program] === undefined)(
      'gives the plan of the token to its user, and to nobody else',
      async () => {
        await using lab = new AsyncDisposableStack();
        const gateway = lab.use(
          await startGateway({
            ...PATIENT,
            HEADGATE_POLICIES: temporaryFile(lab, policies),
            HEADGATE_GRPC_PORT: '0',
          }),
        );
        const upstream = lab.use(await startUpstream());
        const text = withFilters(proxyConfigOf(name, policies), filters);
        const behind = { application: upstream.port, headgate: gateway.port };
        const proxy = lab.use(await start({ ...behind, grpc: gateway.grpcPort, text }, program));
        const left = async (token: string | undefined, own = {}, path = '/api/items') => {
          const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
          const { status, headers } = await call(proxy.url, path, {
            headers: { ...authorization, ...own },
          });
          if (status !== 200) return status;
          return `${headers['x-ratelimit-remaining']} of ${headers['x-ratelimit-limit']}`;
        };
        const token = (claims: object) => issuer.token({ aud: 'api', ...claims });
        const alice = token({ sub: 'alice', plan: 'business' });
        const spoofed = { 'X-User': 'root', 'x-plan': 'business' };

        expect(await left(alice)).toBe('599 of 600');
        expect(await left(alice, spoofed)).toBe('598 of 600');
        expect(await left(token({ sub: 'bob', plan: 'team' }), spoofed)).toBe('59 of 60');
        expect(await left(alice, {}, '/api/reports/1')).toBe('59 of 60');
        // A plan that no policy has, no plan, and two of them: the limits without a plan.
        expect(await left(token({ sub: 'carol', plan: 'trial' }), spoofed)).toBe('19 of 20');
        expect(await left(token({ sub: 'carol' }), spoofed)).toBe('18 of 20');
        expect(await left(token({ sub: 'carol', plan: ['team', 'business'] }))).toBe('17 of 20');
        // Envoy refuses these, so nothing is counted.
        expect(await left(forger.token({ aud: 'api', sub: 'a', plan: 'business' }))).toBe(401);
        expect(await left(issuer.token({ aud: 'other', sub: 'a', plan: 'business' }))).toBe(403);
        expect(await left(token({ sub: 'a', plan: 'business', exp: 1_000_000_000 }))).toBe(401);
        // The address counts.
        expect(await left(undefined)).toBe('19 of 20');
        expect(await left(undefined, spoofed)).toBe('18 of 20');
        expect(await left(token({ plan: 'business' }), spoofed)).toBe('17 of 20');

        const { body } = await call(gateway.opsUrl, '/metrics');
        const plans = [...body.matchAll(/^headgate_plan_total\{plan="(.*)"\} (\d+)$/gm)];
        const counts = Object.fromEntries(plans.map(([, plan, count]) => [plan, Number(count)]));
        // A header cannot hold a list, so Envoy writes text of its own there.
        const unknown = variant === 'headers' ? 2 : 1;
        expect(counts).toEqual({ business: 3, team: 1, unknown });
      },
    );
  });
});

/** The filter of the page without the one that removes headers, and with a rule for some paths only. */
const ALONE = block('- name: own_headers\n')
  .replace(/^.*?(?=- name: tokens)/s, '')
  .replace('prefix: /', 'prefix: /api/');

describe.each(ENVOYS)('%s without the filter that removes headers', (program) => {
  test.skipIf(inject('programs')[program] === undefined)(
    'overwrites or removes those of clients where a rule asks for a token, and since 1.40 elsewhere',
    async () => {
      await using lab = new AsyncDisposableStack();
      const upstream = lab.use(await startUpstream());
      const text = withFilters(proxyConfigOf('envoy', BY_HEADERS), ALONE);
      expect(text).toContain('prefix: /api/');
      const behind = { application: upstream.port, headgate: 1, text };
      const proxy = lab.use(await startEnvoy(behind, program));
      const passedOn = async (path: string, authorization = {}) => {
        const own = { 'X-User': 'root', 'x-plan': 'business' };
        await call(proxy.url, path, { headers: { ...own, ...authorization } });
        const { headers } = upstream.seen.at(-1) ?? {};
        return [headers?.['x-user'], headers?.['x-plan']];
      };
      const bearer = (claims: object) => ({
        authorization: `Bearer ${issuer.token({ aud: 'api', ...claims })}`,
      });
      const nothing = [undefined, undefined];
      expect(await passedOn('/api/a')).toEqual(nothing);
      expect(await passedOn('/api/a', bearer({ sub: 'bob', plan: 'team' }))).toEqual([
        'bob',
        'team',
      ]);
      expect(await passedOn('/api/a', bearer({ sub: 'bob' }))).toEqual(['bob', undefined]);
      const elsewhere = program === 'envoy-oldest' ? ['root', 'business'] : nothing;
      expect(await passedOn('/other')).toEqual(elsewhere);
    },
  );
});

test.each(variants)('doctor has nothing against the file by $variant', async (each) => {
  const text = withFilters(proxyConfigOf(each.name, each.policies), each.filters);
  const found = await examineProxyFile({
    ...{ file: 'envoy.yaml', path: 'envoy.yaml', text, policies: validFile(each.policies) },
    settings: readEnvironment({ HEADGATE_GRPC_PORT: '8081' }),
    isAccepted: async () => true,
  });
  expect(found.map(({ rule }) => rule)).toEqual(['proxy-file']);
});
