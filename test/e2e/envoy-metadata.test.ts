/** Claims of tokens that a real Envoy has verified arrive in the check, and clients cannot write there. */
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { ProxyMetadata } from '../../src/gateway/core/check-request.ts';
import { clientWrittenFrom } from '../../src/gateway/core/identity/client-written-metadata.ts';
import { envoyGrpc } from '../../src/gateway/dialects/envoy-grpc.ts';
import { startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { listenLocally } from '../support/local-server.ts';
import { ENVOYS, type RunningProxy, startEnvoyGrpc } from '../support/proxies.ts';
import { temporaryFile } from '../support/temporary.ts';
import { type CheckRecorder, startCheckRecorder } from './support/check-recorder.ts';
import { tokenIssuer } from './support/signed-tokens.ts';

const JWT = 'envoy.filters.http.jwt_authn';
const COPIED = 'envoy.filters.http.header_to_metadata';

const issuer = tokenIssuer();
const forger = tokenIssuer();

const FIRST_FILTER = '                  - name: headgate.header_names\n';
const EXT_AUTHZ = '                      transport_api_version: V3\n';
const FILTERS = {
  jwt_authn: {
    providers: {
      issuer: {
        issuer: issuer.issuer,
        local_jwks: { inline_string: issuer.jwks },
        payload_in_metadata: 'payload',
        header_in_metadata: 'header',
        failed_status_in_metadata: 'failed',
      },
    },
    rules: [
      {
        match: { prefix: '/' },
        requires: {
          requires_any: {
            requirements: [{ provider_name: 'issuer' }, { allow_missing_or_failed: {} }],
          },
        },
      },
    ],
  },
  header_to_metadata: {
    request_rules: [{ header: 'x-plan', on_header_present: { key: 'plan', type: 'STRING' } }],
  },
};
const TYPES = { jwt_authn: 'JwtAuthentication', header_to_metadata: 'Config' };

/** JSON is YAML, too. */
const filterOf = (name: keyof typeof FILTERS) => {
  const type = `type.googleapis.com/envoy.extensions.filters.http.${name}.v3.${TYPES[name]}`;
  const typed_config = { '@type': type, ...FILTERS[name] };
  return `                  - ${JSON.stringify({ name: `envoy.filters.http.${name}`, typed_config })}\n`;
};
const CHANGES = {
  [FIRST_FILTER]: filterOf('jwt_authn') + filterOf('header_to_metadata') + FIRST_FILTER,
  [EXT_AUTHZ]: `${EXT_AUTHZ}                      metadata_context_namespaces: [${JWT}, ${COPIED}]\n`,
};

const POLICIES = `version: 1
identity:
  sources: [user, ip]
  user: { metadata: ${JWT}, claim: [payload, sub] }
  plan: { metadata: ${JWT}, claim: [payload, plan] }
default: { limits: [10/1h], plans: { pro: [100/1h] } }
`;

/** Envoy with an application behind it. */
async function startProxy(
  stack: AsyncDisposableStack,
  program: (typeof ENVOYS)[number],
  grpc: number,
): Promise<RunningProxy> {
  const { port } = stack.use(
    await listenLocally(createServer((_, response) => response.end('application'))),
  );
  const behind = { application: port, headgate: 1, grpc, changes: CHANGES };
  return stack.use(await startEnvoyGrpc(behind, program));
}

describe.each(ENVOYS)('%s', (program) => {
  test.skipIf(inject('programs')[program] === undefined)(
    'counts for the user and the plan of a token, and for the address without them',
    async () => {
      await using stack = new AsyncDisposableStack();
      const file = temporaryFile(stack, POLICIES);
      const gateway = stack.use(
        await startGateway({ HEADGATE_GRPC_PORT: '0', HEADGATE_POLICIES: file }),
      );
      const proxy = await startProxy(stack, program, gateway.grpcPort);
      const limitsFor = async (token: string | undefined, more = {}) => {
        const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const { headers } = await call(proxy.url, '/', { headers: { ...authorization, ...more } });
        return `${headers['x-ratelimit-remaining']} of ${headers['x-ratelimit-limit']}`;
      };
      const { token } = issuer;
      expect(await limitsFor(token({ sub: 'alice', plan: 'pro' }))).toBe('99 of 100');
      expect(await limitsFor(token({ sub: 'alice', plan: ['pro'] }))).toBe('98 of 100');
      expect(await limitsFor(token({ sub: 'bob' }))).toBe('9 of 10');
      expect(await limitsFor(token({ sub: 'bob', plan: 'unknown' }))).toBe('8 of 10');
      // All of these count for the address.
      expect(await limitsFor(undefined)).toBe('9 of 10');
      expect(await limitsFor(token({ plan: 'pro' }))).toBe('8 of 10');
      expect(await limitsFor(forger.token({ sub: 'alice', plan: 'pro' }))).toBe('7 of 10');
      expect(await limitsFor(unsigned({ sub: 'alice', plan: 'pro' }))).toBe('6 of 10');
      expect(await limitsFor(undefined, { 'x-plan': 'pro', 'x-user': 'alice' })).toBe('5 of 10');
      // Envoy does not accept a token whose subject is no text.
      expect(await limitsFor(token({ sub: 42, plan: 'pro' }))).toBe('4 of 10');
      expect(await limitsFor(token({ sub: ['alice'], plan: 'pro' }))).toBe('3 of 10');
      expect(await limitsFor(token({ sub: 'alice', plan: 'pro' }))).toBe('97 of 100');
    },
  );

  describe.skipIf(inject('programs')[program] === undefined)('sends', () => {
    const stack = new AsyncDisposableStack();
    let recorder: CheckRecorder;
    let proxy: RunningProxy;

    beforeAll(async () => {
      recorder = stack.use(await startCheckRecorder());
      proxy = await startProxy(stack, program, recorder.port);
    });
    afterAll(() => stack.disposeAsync());

    /** The metadata of the check for a request with these headers. */
    async function metadataFor(
      headers: Record<string, string>,
    ): Promise<ProxyMetadata | undefined> {
      const { status } = await call(proxy.url, '/', { headers });
      expect(status).toBe(200);
      return envoyGrpc.parse(recorder.checks.at(-1) ?? Buffer.alloc(0), '127.0.0.1', {})?.metadata;
    }
    const withToken = (token: string) => metadataFor({ authorization: `Bearer ${token}` });
    const claimsOf = async (claims: object | string) => {
      const metadata = await withToken(issuer.token(claims));
      return (...path: string[]) => metadata?.text(JWT, ['payload', ...path]);
    };

    test('the claims of a verified token', async () => {
      const claim = await claimsOf({
        sub: 'alice',
        plan: 'pro',
        account: 4_711,
        name: 'Jürgen',
        realm_access: { roles: ['admin'] },
        groups: ['a', 'b'],
        large: 'x'.repeat(40_000),
        share: 0.5,
        verified: true,
        nothing: null,
      });
      expect(claim('sub')).toBe('alice');
      expect(claim('plan')).toBe('pro');
      expect(claim('account')).toBe('4711');
      expect(claim('name')).toBe('Jürgen');
      expect(claim('realm_access', 'roles')).toBe('admin');
      for (const each of ['groups', 'large', 'share', 'verified', 'nothing', 'Sub', 'absent']) {
        expect(claim(each), each).toBeUndefined();
      }
    });

    test('no claims if one is there twice', async () => {
      const claim = await claimsOf(`{"iss":"${issuer.issuer}","sub":"alice","sub":"bob"}`);
      expect(claim('sub')).toBeUndefined();
    });

    test('claims with control characters, which are no names', async () => {
      const claim = await claimsOf({ sub: 'alice\0', plan: 'pro\n', other: 'gold' });
      expect(claim('sub')).toBeUndefined();
      expect(claim('plan')).toBeUndefined();
      expect(claim('other')).toBe('gold');
    });

    test.each([
      ['no token', {}],
      ['a token of somebody else', { authorization: `Bearer ${forger.token({ sub: 'alice' })}` }],
      ['a token without a signature', { authorization: `Bearer ${unsigned({ sub: 'alice' })}` }],
      [
        'an expired token',
        { authorization: `Bearer ${issuer.token({ sub: 'alice', exp: 1_000_000_000 })}` },
      ],
    ])('no claims for %s', async (_, headers) => {
      const metadata = await metadataFor(headers);
      expect(metadata?.text(JWT, ['payload', 'sub'])).toBeUndefined();
    });

    test('no namespace that the filter does not name, but what a filter copies from a header', async () => {
      const metadata = await metadataFor({ 'x-plan': 'pro' });
      expect(metadata?.text(JWT, ['payload', 'plan'])).toBeUndefined();
      expect(metadata?.text(COPIED, ['plan'])).toBe('pro');
      expect(clientWrittenFrom(COPIED)).toBe('headers and cookies of the request');
      expect(clientWrittenFrom(JWT)).toBeUndefined();
    });
  });
});

function unsigned(claims: object): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return `${encode({ alg: 'none' })}.${encode({ iss: issuer.issuer, ...claims })}.`;
}
