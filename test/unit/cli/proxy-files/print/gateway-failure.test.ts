/** The rules that proxies are given, against the gateway's own matcher. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { simpleSpellingsOf } from '../../../../../src/cli/check/advice/spellings.ts';
import { keyPattern } from '../../../../../src/cli/proxy-files/print/failure-conditions.ts';
import {
  type FailureRules,
  failureRulesOf,
} from '../../../../../src/cli/proxy-files/print/gateway-failure.ts';
import { servesPath } from '../../../../support/lenient-servers.ts';
import { policySetFrom } from '../../../../support/policies.ts';
import { validFile } from '../../../../support/proxy-config.ts';

const fileOf = (policies: string) =>
  `{ version: 1, default: { limits: [1/1h] }, policies: [${policies}] }`;
const policy = (name: string, match: string, refuses: boolean) =>
  `{ name: ${name}, match: { ${match} }, limits: [1/1h], on_gateway_failure: ${refuses ? 'deny' : 'allow'} }`;

/** As a proxy with ordered rules does. */
function isRefused(rules: FailureRules | undefined, [method, host, target]: Request): boolean {
  if (rules === undefined) return false;
  const matches = (pattern: string, text: string) => new RegExp(pattern, 'i').test(text);
  if (rules.method !== undefined && !matches(`^${rules.method}$`, method)) return false;
  const key = `${method} ${host} ${target}`;
  return rules.rules.find((rule) => matches(keyPattern(rule), key))?.refuses ?? true;
}

type Request = readonly [method: string, host: string, target: string];

const refusedBy = (policies: string) => {
  const rules = failureRulesOf(validFile(fileOf(policies)));
  return (method: string, target: string, host = 'a.example') =>
    isRefused(rules, [method, host, target]);
};

const LOGIN = policy('login', 'method: POST, path: /api/auth/login', true);

test('a policy file without deny needs no rules', () => {
  expect(failureRulesOf(validFile(fileOf(policy('a', 'path: /a', false))))).toBeUndefined();
});

test('every path of a list is refused, unless another policy is more specific', () => {
  const listed = policy('login', 'path: [/login, "/users/:id", /v1/*]', true);
  const refused = refusedBy(`${listed}, ${policy('me', 'path: [/users/me, /v1/open]', false)}`);
  for (const path of ['/login', '/users/7', '/v1', '/v1/closed'])
    expect(refused('GET', path), path).toBe(true);
  for (const path of ['/', '/users', '/users/me', '/v1/open', '/v2'])
    expect(refused('GET', path), path).toBe(false);
});

test('a policy in another mode than enforce refuses nothing', () => {
  for (const mode of ['shadow', 'off']) {
    const written = LOGIN.replace('limits:', `mode: ${mode}, limits:`);
    expect(failureRulesOf(validFile(fileOf(written)))).toBeUndefined();
  }
});

test('refuses what any server would read as the path, and no other clear path', () => {
  const refused = refusedBy(LOGIN);
  for (const spelling of simpleSpellingsOf('/api/auth/login')) {
    if (servesPath(spelling, '/api/auth/login').length === 0) continue;
    expect(refused('POST', spelling), spelling).toBe(true);
  }
  for (const path of ['/', '/a', '/api/auth/logins', '/api/auth/login/x', '/A.b/C', '/a?b=//%'])
    expect(refused('POST', path), path).toBe(false);
});

test('other methods pass, however their path is spelled', () => {
  const refused = refusedBy(LOGIN);
  for (const path of ['/api/auth/login', '//%61;', '*']) expect(refused('GET', path)).toBe(false);
  expect(refused('post', '/api/auth/login')).toBe(true);
});

test('a HEAD counts as a GET', () => {
  const refused = refusedBy(policy('a', 'method: GET, path: /a', true));
  expect([refused('HEAD', '/a'), refused('GET', '/a'), refused('PUT', '/a')]).toEqual([
    true,
    true,
    false,
  ]);
});

test('a more specific policy that allows keeps its requests', () => {
  const refused = refusedBy(
    [policy('all', 'path: "/api/*"', true), policy('status', 'path: /api/status', false)].join(),
  );
  expect(refused('GET', '/api/status')).toBe(false);
  expect(refused('GET', '/api/Status')).toBe(false);
  // Some applications have another route there, and so the gateway charges both policies.
  expect(refused('GET', '/api/status/')).toBe(true);
  expect(refused('GET', '/api/statuses')).toBe(true);
  expect(refused('GET', '/api//status')).toBe(true);
  expect(refused('GET', '/api')).toBe(true);
  expect(refused('GET', '/other')).toBe(false);
});

test('where case matters to the application, another case of an allowed path is refused', () => {
  const policies = [policy('all', 'path: "/api/*"', true), policy('s', 'path: /api/s', false)];
  const file = fileOf(policies.join()).replace(',', ', matching: { case_sensitive: true },');
  expect(isRefused(failureRulesOf(validFile(file)), ['GET', 'a', '/api/S'])).toBe(true);
});

test('with always, it applies whatever other policy decides', () => {
  const refused = refusedBy(
    `{ name: all, always: true, limits: [1/1h], on_gateway_failure: deny }, ${policy('a', 'path: /a', false)}`,
  );
  for (const path of ['/', '/a', '//']) expect(refused('GET', path)).toBe(true);
});

test('a host counts with a port, a dot at its end and in any case, and unclear hosts are refused', () => {
  const refused = refusedBy(policy('a', 'host: "*.example.com", path: /a', true));
  for (const host of ['x.example.com', 'X.EXAMPLE.com:80', 'a.b.example.com.', 'a:80:admin', '']) {
    expect(refused('GET', '/a', host), host).toBe(true);
  }
  for (const host of ['example.org', 'example.com', 'a.example.org:8080', '[::1]:80'])
    expect(refused('GET', '/a', host), host).toBe(false);
});

describe('against the matcher of the gateway', () => {
  const segment = fc.constantFrom('a', 'b', 'login', ':id');
  const path = fc
    .tuple(fc.array(segment, { maxLength: 3 }), fc.boolean())
    .map(([names, open]) => `/${[...names, ...(open ? ['*'] : [])].join('/')}`);
  const entry = fc.record({
    paths: fc.oneof(path, fc.uniqueArray(path, { minLength: 2, maxLength: 3 })),
    methods: fc.constantFrom(undefined, 'GET', 'POST', '[GET, POST]'),
    host: fc.constantFrom(undefined, 'a.example', '*.example'),
    always: fc.boolean(),
    refuses: fc.boolean(),
  });
  const names = ['a', 'B', 'login', 'Login', 'x.y', '..', '', '%61', 'a;b'];
  const targets = [
    ...names.map((one) => `/${one}`),
    ...names.flatMap((one) => names.map((other) => `/${one}/${other}`)),
  ];
  const requests = ['GET', 'HEAD', 'POST', 'PUT'].flatMap((method) =>
    ['a.example', 'b.example:80', 'other'].flatMap((host) =>
      targets.map((target): Request => [method, host, target]),
    ),
  );

  test('requests of a policy with deny are refused; of the clear cases no other request is', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 5, minLength: 1 }), (entries) => {
        const yaml = fileOf(entries.map(written).join());
        let file: ReturnType<typeof validFile>;
        try {
          file = validFile(yaml);
        } catch {
          return fc.pre(false); // Two policies that tie.
        }
        const policies = policySetFrom(yaml);
        const rules = failureRulesOf(file);
        const wrong = requests.filter((request) => {
          const [method, host, target] = request;
          const line = { method, host, target, policy: undefined, missing: [] };
          const deciding = policies.policiesFor(line);
          const decided = deciding.some(({ name }) => entries[Number(name.slice(1))]?.refuses);
          const isClear = /^(\/[A-Za-z.]*[A-Za-z])+$/.test(target);
          const refused = isRefused(rules, request);
          return decided ? !refused : isClear && refused;
        });
        expect(wrong).toEqual([]);
      }),
      { numRuns: 20 },
    );
  }, 60_000);

  function written({ paths, methods, host, always, refuses }: Entry, i: number): string {
    const match = [
      `path: ${JSON.stringify(paths)}`,
      methods && `method: ${methods}`,
      host && `host: "${host}"`,
    ];
    const text = policy(`p${i}`, match.filter((each) => !!each).join(', '), refuses);
    return always ? text.replace('limits:', 'always: true, limits:') : text;
  }
});

interface Entry {
  readonly paths: string | readonly string[];
  readonly methods: string | undefined;
  readonly host: string | undefined;
  readonly always: boolean;
  readonly refuses: boolean;
}
