/** What `headgate doctor` says of users and plans that a proxy names: by headers, and by metadata of Envoy. */
import { describe, expect, test } from 'vitest';
import { examineProxyFile } from '../../../../../src/cli/proxy-files/read/examine-files.ts';
import { readEnvironment } from '../../../../../src/gateway/config/settings/environment.ts';
import { proxyConfigOf, validFile } from '../../../../support/proxy-config.ts';

const identity = (plan: string) => `version: 1
identity: { sources: [user, ip], ${plan} }
default: { limits: [9/1h], plans: { pro: [99/1h] } }
`;
const BY_HEADER = identity('plan: { header: x-plan }, verified_headers: [x-plan]');
const BY_METADATA =
  identity(`user: { metadata: envoy.filters.http.jwt_authn, claim: [payload, sub] },
  plan: { metadata: my.filter, claim: plan }`);

const examined = (text: string, policies: string) =>
  examineProxyFile({
    ...{ file: 'file', path: 'file', text, policies: validFile(policies) },
    settings: readEnvironment({ HEADGATE_GRPC_PORT: '8081' }),
    isAccepted: async () => true,
  });

async function complaints(text: string, policies: string): Promise<string[]> {
  return (await examined(text, policies))
    .filter(({ severity }) => severity === 'error' || severity === 'warning')
    .map(({ rule, message }) => `${rule}: ${message}`);
}

const FROM_CLIENT = ['x-user', 'x-plan'].map(
  (name) => `header-from-client: ${name} is what the client sends`,
);
const MUTATION =
  'type.googleapis.com/envoy.extensions.filters.http.header_mutation.v3.HeaderMutation';
const LUA = 'type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua';
const JWT = 'type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication';
const filter = (type: string, config: object, more: object = {}) =>
  JSON.stringify({ name: 'own', typed_config: { '@type': type, ...config }, ...more });
const mutates = (request_mutations: object[], more: object = {}) =>
  filter(MUTATION, { mutations: { request_mutations } }, more);
const REMOVES = [{ remove: 'X-User' }, { remove: 'x-plan' }];
const overwrites = (key: string, append_action?: string) => ({
  append: { header: { key, value: 'a' }, ...(append_action && { append_action }) },
});
const scripted = (inline_string: string) => filter(LUA, { default_source_code: { inline_string } });

describe.each(['envoy', 'envoy-grpc'])('in the file of %s', (proxy) => {
  const printed = proxyConfigOf(proxy, BY_HEADER).replaceAll(
    /#(- \{ exact: x-(user|plan),)/g,
    '$1',
  );
  const withFilter = (own: string, place = '- name: headgate.ext_authz\n') =>
    printed.replace(place, (next) => `- ${own}\n                  ${next}`);

  test('headers that no filter removes come from the client', async () => {
    expect(await complaints(printed, BY_HEADER)).toEqual(FROM_CLIENT);
  });

  test.each([
    ['removes them', mutates(REMOVES)],
    [
      'overwrites them',
      mutates(['x-user', 'x-plan'].map((each) => overwrites(each, 'OVERWRITE_IF_EXISTS_OR_ADD'))),
    ],
    ['has a script that does', scripted('h:remove("x-user") h:replace( \'x-plan\', "a")')],
  ])('a filter before the check that %s makes them fit', async (_, own) => {
    expect(await complaints(withFilter(own), BY_HEADER)).toEqual([]);
  });

  test.each([
    ['appends to them', mutates([overwrites('x-user'), overwrites('x-plan', 'ADD_IF_ABSENT')])],
    ['is disabled', mutates(REMOVES, { disabled: true })],
    ['has a script that reads them', scripted('h:get("x-user") h:add("x-plan", "a")')],
    [
      'takes them from a token, because Envoy 1.36 leaves them where no rule asks for one',
      filter(JWT, {
        providers: { a: { claim_to_headers: [{ header_name: 'x-plan', claim_name: 'plan' }] } },
      }),
    ],
  ])('a filter that %s does not', async (_, own) => {
    expect(await complaints(withFilter(own), BY_HEADER)).toEqual(FROM_CLIENT);
  });

  test('a filter behind the check does not', async () => {
    const text = withFilter(mutates(REMOVES), '- name: headgate.gateway_failure\n');
    expect(await complaints(text, BY_HEADER)).toEqual(FROM_CLIENT);
  });
});

const NAMED = '- name: headgate.ext_authz\n';
const BEHIND = '- name: headgate.gateway_failure\n';
const tokens = (provider: object, more: object = {}) =>
  filter(JWT, { providers: { a: provider } }, more);
const TOKENS = tokens({ payload_in_metadata: 'payload' });
const placed = (text: string, place: string, ...own: string[]) =>
  text.replace(place, (next) =>
    [...own.map((each) => `- ${each}`), next].join('\n                  '),
  );
const withBefore = (...own: string[]) =>
  placed(proxyConfigOf('envoy-grpc', BY_METADATA), NAMED, ...own);

describe('metadata of filters', () => {
  const missing = (why: string, ...names: string[]) =>
    names.map((each) => `metadata-not-sent: ${each} ${why}`);

  test('is sent by the file of Envoy over gRPC that was printed for the policy file', async () => {
    const printed = withBefore(TOKENS, scripted('set("my.filter", "plan", "a")'));
    expect(await complaints(printed, BY_METADATA)).toEqual([]);
    const one = printed.replace(', "my.filter"]', ']');
    const why = 'is not in metadata_context_namespaces of the filter';
    expect(await complaints(one, BY_METADATA)).toEqual(missing(why, 'my.filter'));
    const other = proxyConfigOf('envoy-grpc', BY_HEADER);
    expect(await complaints(other, BY_METADATA)).toEqual(
      missing(why, 'envoy.filters.http.jwt_authn', 'my.filter'),
    );
  });

  const NONE =
    'no filter jwt_authn stands before headgate.ext_authz, so nothing writes envoy.filters.http.jwt_authn';
  const NO_NAME =
    'the filter jwt_authn before headgate.ext_authz has no payload_in_metadata, so it writes no envoy.filters.http.jwt_authn';
  const OTHER_NAME =
    'the filter jwt_authn before headgate.ext_authz writes claims, and a claim begins with payload';
  const ONLY_TOKENS =
    identity(`user: { metadata: envoy.filters.http.jwt_authn, claim: [payload, sub] },
  plan: { metadata: envoy.filters.http.jwt_authn, claim: [payload, plan] }`);
  const printed = proxyConfigOf('envoy-grpc', ONLY_TOKENS);

  test.each([
    ['no filter writes', printed, NONE],
    ['a filter behind the check writes', placed(printed, BEHIND, TOKENS), NONE],
    [
      'a disabled filter writes',
      placed(printed, NAMED, tokens({ payload_in_metadata: 'payload' }, { disabled: true })),
      NONE,
    ],
    ['a filter does not put the claims into', placed(printed, NAMED, tokens({})), NO_NAME],
    [
      'has another name',
      placed(printed, NAMED, tokens({ payload_in_metadata: 'claims' })),
      OTHER_NAME,
    ],
  ])('that %s is found', async (_, text, problem) => {
    expect(await complaints(text, ONLY_TOKENS)).toEqual([`metadata-not-written: ${problem}`]);
  });

  test.each([
    ['a script', scripted('set("envoy.filters.http.jwt_authn", "payload", {})')],
    ['a filter that is configured elsewhere', '{ name: own, config_discovery: {} }'],
    [
      'one of two providers',
      filter(JWT, { providers: { a: {}, b: { payload_in_metadata: 'payload' } } }),
    ],
    ['the head of a token', tokens({ header_in_metadata: 'payload' })],
  ])('that %s can write is not', async (_, own) => {
    expect(await complaints(placed(printed, NAMED, own), ONLY_TOKENS)).toEqual([]);
  });

  test('of other filters needs a filter that may write it, or one of the connection', async () => {
    const cors = filter('type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors', {});
    const text = withBefore(TOKENS, cors);
    const problem = 'no filter before headgate.ext_authz writes my.filter';
    expect(await complaints(text, BY_METADATA)).toEqual([`metadata-not-written: ${problem}`]);
    const connection = text.replace(
      /^( +)(filter_chains:)/m,
      '$1listener_filters: [{ name: a }]\n$1$2',
    );
    expect(await complaints(connection, BY_METADATA)).toEqual([]);
  });

  test.each(['nginx', 'envoy', 'caddy', 'haproxy', 'traefik'])(
    'is not sent by %s',
    async (proxy) => {
      expect(await complaints(proxyConfigOf(proxy, BY_METADATA), BY_METADATA)).toEqual(
        missing(
          'is not sent: only Envoy over gRPC can',
          'envoy.filters.http.jwt_authn',
          'my.filter',
        ),
      );
    },
  );
});

test.each(['nginx', 'caddy', 'haproxy', 'traefik'])(
  'the printed file of %s passes on no plan of the client, and one that does is found',
  async (proxy) => {
    const printed = proxyConfigOf(proxy, BY_HEADER);
    const spoofed = printed
      .replaceAll(/X-(User|Plan) "";/g, 'X-$1 $http_x_$1;')
      .replaceAll(/header_up -X-(User|Plan)/g, '')
      .replaceAll(/http-request del-header x-(user|plan)/g, '')
      .replaceAll(/#(- X-(User|Plan))/g, '$1');
    expect(spoofed).not.toBe(printed);
    expect(await complaints(spoofed, BY_HEADER)).toEqual(FROM_CLIENT);
    const rules = (await complaints(printed, BY_HEADER)).map((each) => each.split(':')[0]);
    expect(rules).not.toContain('header-from-client');
  },
);

test.each(['envoy', 'envoy-grpc', 'traefik'])(
  'what doctor says of the printed file of %s leads on: printing it again would not',
  async (proxy) => {
    const [first] = await examined(proxyConfigOf(proxy, BY_HEADER), BY_HEADER);
    expect(first).toMatchObject({ rule: 'header-not-passed' });
    expect(first?.remedy).toMatch(/^If the file has a line .* remove the `#`/);
  },
);

/** What a file says of the plan, beside what proxy-config prints. */
test.each([
  ['nginx', 'proxy_set_header X-Plan "";', 'proxy_set_header X-Plan $HTTP_X_PLAN;'],
  ['nginx', 'proxy_set_header X-Plan "";', `proxy_set_header X-Plan "a\${http_x_other}";`],
  ['nginx', 'proxy_set_header X-Plan "";', 'proxy_set_header X-Plan $arg_plan;'],
  ['nginx', 'proxy_set_header X-Plan "";', 'proxy_set_header X-Plan $cookie_plan;'],
  ['caddy', 'header_up -X-Plan', 'header_up +X-Plan free'],
  ['caddy', 'header_up -X-Plan', 'header_up X-Plan {header.X-Plan}'],
  ['caddy', 'header_up -X-Plan', 'header_up X-Plan {http.request.header.x-plan}'],
  ['caddy', 'header_up -X-Plan', 'header_up X-Plan ^a b'],
  ['haproxy', 'del-header x-plan', 'del-header x-plan if { src 10.0.0.0/8 }'],
  ['haproxy', 'del-header x-plan', 'set-header x-plan %[req.hdr(X-Plan),lower]'],
])('the file of %s with the plan of the client is found: %s, %s', async (proxy, shipped, own) => {
  const printed = proxyConfigOf(proxy, BY_HEADER);
  expect(printed).toContain(shipped);
  const found = await complaints(
    printed.replace(shipped, () => own),
    BY_HEADER,
  );
  expect(found).toContain(FROM_CLIENT[1]);
});

test.each([
  ['nginx', 'proxy_set_header X-Plan "";', 'proxy_set_header X-Plan $jwt_claim_plan;'],
  ['caddy', 'header_up -X-Plan', 'header_up X-Plan {http.auth.user.plan}'],
  [
    'haproxy',
    'del-header x-plan',
    "set-header x-plan %[req.hdr(authorization),word(2,.),ub64dec,json_query('$.plan')]",
  ],
])('the file of %s that sets the plan itself fits: %s, %s', async (proxy, shipped, own) => {
  const text = proxyConfigOf(proxy, BY_HEADER).replace(shipped, () => own);
  expect(await complaints(text, BY_HEADER)).not.toContain(FROM_CLIENT[1]);
});
