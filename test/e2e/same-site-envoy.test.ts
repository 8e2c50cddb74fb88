/** A varied site of Envoy behaves as before once it has the parts of headgate. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { ENVOYS } from '../support/proxies.ts';
import { temporaryFile } from '../support/temporary.ts';
import { type EnvoyMode, type EnvoyProgram, startEnvoySite } from './support/envoy-site.ts';
import { type ComparedSite, compareSites, visitSite } from './support/site-comparison.ts';
import { siteRequest, siteRequests } from './support/site-requests.ts';
import { startVariedApplication } from './support/varied-application.ts';

const POLICIES = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [1000000/1h] }
policies:
  - { name: once, match: { path: /:where/once }, limits: [1/1h] }
  - { name: careful, match: { method: PATCH, path: /careful }, limits: [9/1h], on_gateway_failure: deny }
`;
const NO_CLIENT_IS_INTERNAL =
  'internal_address_config: { cidr_ranges: [{ address_prefix: 0.0.0.0, prefix_len: 32 }] }';
/** Keys of the connection manager, and the headers that the parts change for an application without them. */
const SITES = {
  'that knows its clients': {
    manager: ['use_remote_address: true', NO_CLIENT_IS_INTERNAL],
    ignored: [],
  },
  'behind a load balancer': {
    manager: [
      ...['use_remote_address: true', NO_CLIENT_IS_INTERNAL, 'xff_num_trusted_hops: 1'],
      ...['skip_xff_append: true', 'preserve_external_request_id: true'],
    ],
    ignored: [],
  },
  'that believes every client': {
    manager: [],
    ignored: ['x-forwarded-for', 'x-forwarded-proto', 'x-envoy-external-address'],
  },
} as const;

const REQUESTS = [
  ...siteRequests(),
  ...['/weighted', '/hosted', '/old', '/users/7'].flatMap((base) =>
    siteRequests(base).filter((_, i) => i % 5 === 0),
  ),
  ...[
    ...['/', '/moved', '/health', '/gone', '/private/thing', '/forbidden/thing', '/marked/thing'],
    ...['/a%2Fb', '/a%5Cb', '/a\\b', '/a/../b', '/a/%2e%2e/b', '/a"b', '/{a}|^<b>'],
    ...['/a;b/..;/c', '/health/../x', '/%2e/x', '//', '/a//b//', '/\xe4', '/#x', '/?#'],
  ].flatMap((path) => [siteRequest(`GET ${path}`), siteRequest(`POST ${path}`, { body: 'x' })]),
  ...['dXNlcjpwdw==', 'dXNlcjp3cm9uZw=='].map((credentials) =>
    siteRequest('GET /private/thing', { headers: [`Authorization: Basic ${credentials}`] }),
  ),
  siteRequest('GET /page', { headers: ['Accept-Encoding: gzip', 'X-Secret: 1'] }),
  siteRequest('GET /thing', { headers: ['X-Forwarded-For: 198.51.100.7, 192.0.2.1'] }),
  siteRequest('GET /mounted/thing'),
  siteRequest('GET /mounted/thing', { headers: ['X-Forwarded-Prefix: /of-the-client'] }),
  ...[99_999, 100_001, 1_000_000].map((size) =>
    siteRequest('POST /uploads/thing', { body: Buffer.alloc(size) }),
  ),
  siteRequest('GET http://a.example/thing'),
  siteRequest('GET /thing', { headers: ['Upgrade: h2c', 'Connection: Upgrade'] }),
];
const FEW_REQUESTS = REQUESTS.filter((_, i) => i % 9 === 0);
const UPLOAD = { body: Buffer.alloc(1_000_000), headers: ['Expect: 100-continue'] };
const DENIED = [
  siteRequest('GET /api/once'),
  siteRequest('POST /old/once', { ...UPLOAD, waits: 'continue' }),
  siteRequest('DELETE //weighted/../api/once'),
  siteRequest('PUT /hosted/once', { body: 'small' }),
];
/** Besides those of headgate, the site's own. */
const DENIAL = [
  ...['cache-control', 'connection', 'content-length', 'content-type', 'retry-after', 'server'],
  ...['vary', 'x-site'],
];

const stack = new AsyncDisposableStack();
let gateway: Gateway;

beforeAll(async () => {
  const policies = temporaryFile(stack, POLICIES);
  gateway = stack.use(await startGateway({ HEADGATE_POLICIES: policies, HEADGATE_GRPC_PORT: '0' }));
});
afterAll(() => stack.disposeAsync());

interface Start {
  readonly program: EnvoyProgram;
  readonly manager: readonly string[];
  readonly mode?: EnvoyMode;
  /** Where headgate answers. */
  readonly port?: number;
}

async function start({ program, manager, mode, port }: Start): Promise<ComparedSite> {
  const application = stack.use(await startVariedApplication());
  const guard = mode && { mode, policies: POLICIES, port: port ?? 0 };
  const site = { program, manager, application: application.port, guard };
  return { url: stack.use(await startEnvoySite(site)).url, application };
}

describe.each(ENVOYS)('%s', (program) => {
  const testWith = test.skipIf(!(program in inject('programs')));

  describe.each(Object.keys(SITES) as (keyof typeof SITES)[])('a site %s', (name) => {
    const { manager, ignored } = SITES[name];

    testWith.each(['envoy', 'envoy-grpc'] as const)('is the same with %s', async (mode) => {
      const plain = await start({ program, manager });
      const port = mode === 'envoy' ? gateway.port : gateway.grpcPort;
      const guarded = await start({ program, manager, mode, port });
      expect(await compareSites(plain, guarded, REQUESTS, { ignored })).toEqual([]);
      // Twice: the first requests use up their limit.
      for (const request of DENIED) await visitSite(guarded, request);
      for (const request of DENIED) {
        const { answer, received } = await visitSite(guarded, request);
        // Envoy itself sends a 100 for an upload that waits for one.
        expect(answer.status).toMatch(/^(100 )?429$/);
        expect(JSON.parse(answer.body)).toMatchObject({ policy: 'once' });
        expect(answer.headers.map((each) => each.replace(/:.*/, ''))).toEqual(DENIAL);
        expect(received).toEqual([]);
      }
      expect(await compareSites(plain, guarded, FEW_REQUESTS, { ignored })).toEqual([]);
    });

    testWith.each(['envoy', 'envoy-grpc'] as const)(
      'is the same with %s while the gateway is down',
      async (mode) => {
        const plain = await start({ program, manager });
        const guarded = await start({ program, manager, mode, port: await freePort() });
        const options = { ignored: [...ignored, 'x-envoy-auth-failure-mode-allowed'] };
        expect(await compareSites(plain, guarded, REQUESTS, options)).toEqual([]);
        const refused = await call(guarded.url, '/careful', { method: 'PATCH' });
        expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
        expect(JSON.parse(refused.body)).toMatchObject({ error: 'gateway_unavailable' });
      },
    );
  });
});
