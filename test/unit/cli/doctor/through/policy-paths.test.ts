import { expect, test } from 'vitest';
import { pathFindings, policyPaths } from '../../../../../src/cli/doctor/through/policy-paths.ts';
import { validatePolicyFile } from '../../../../../src/gateway/config/policy-file/validate.ts';
import { policyFileContext } from '../../../../support/policies.ts';
import { type Answer, answering } from '../local-answers.ts';

const SHOP = 'http://shop.example:8000/here';

function pathsOf(matches: readonly string[], url = SHOP, host?: string) {
  const entries = matches.map((match, i) => `  - { name: p${i}, limits: [5/1min], ${match} }`);
  const { file } = validatePolicyFile(
    [
      'version: 1',
      'default: { limits: [1000/1h] }',
      ...(entries.length === 0 ? [] : ['policies:', ...entries]),
    ].join('\n'),
    'policies.yaml',
    policyFileContext(),
  );
  return policyPaths(file, { url: new URL(url), ...(host !== undefined && { host }) });
}

const tried = (paths: ReturnType<typeof policyPaths>) =>
  paths.tried.map(({ target, policy }) => `${policy} ${target}`);

test('exact paths are tried, patterns are not', () => {
  const paths = pathsOf([
    'match: { path: /login }',
    'match: { path: /api/* }',
    'match: { path: "/users/:id" }',
    'match: { path: / }',
  ]);
  expect(tried(paths)).toEqual(['p0 /login', 'p3 /']);
  expect(paths.untried).toEqual(['/api/*', '/users/:id']);
});

test('a policy that is off, has no path, or has every path, says nothing of a path', () => {
  const paths = pathsOf([
    'mode: off, match: { path: /old }',
    'match: { method: POST }',
    'match: { path: /* }',
    'mode: shadow, match: { path: /trial }',
  ]);
  expect(tried(paths)).toEqual(['p3 /trial']);
  expect(paths.untried).toEqual([]);
  expect(pathsOf([])).toEqual({ tried: [], untried: [] });
});

test('each path of a list is tried, or named if it is a pattern', () => {
  const paths = pathsOf(['match: { path: [/v1/find, "/v1/:id", /*, /here, /v2/%66ind] }']);
  expect(tried(paths)).toEqual(['p0 /v1/find', 'p0 /v2/find']);
  expect(paths.untried).toEqual(['/v1/:id']);
});

test('the path of the URL itself is asked already', () => {
  expect(tried(pathsOf(['match: { path: /here }', 'match: { path: /there }']))).toEqual([
    'p1 /there',
  ]);
});

test.each([
  ['the URL', SHOP, undefined, ['p0 /all', 'p1 /shop']],
  ['the URL in capitals', 'http://SHOP.example/here', undefined, ['p0 /all', 'p1 /shop']],
  ['--host', SHOP, 'admin.example:81', ['p0 /all', 'p2 /admin']],
  ['--host in capitals', SHOP, 'ADMIN.example', ['p0 /all', 'p2 /admin']],
  ['another host', SHOP, 'other.example', ['p0 /all']],
])('policies are those of the host: %s', (_, url, host, names) => {
  const matches = [
    'match: { path: /all }',
    'match: { path: /shop, host: shop.example }',
    'match: { path: /admin, host: admin.example }',
    'match: { path: /elsewhere/*, host: elsewhere.example }',
  ];
  const paths = pathsOf(matches, url, host);
  expect(tried(paths)).toEqual(names);
  expect(paths.untried).toEqual([]);
});

test('two policies of one path are one request, two of one pattern are one line', () => {
  const paths = pathsOf([
    'match: { path: /login, method: GET }',
    'match: { path: /login, method: POST }',
    'match: { path: /api/*, method: GET }',
    'match: { path: /api/*, method: POST }',
  ]);
  expect(tried(paths)).toEqual(['p1 /login']);
  expect(paths.untried).toEqual(['/api/*']);
});

test('twenty paths are tried, the others are named before the patterns', () => {
  const exact = (count: number) =>
    Array.from({ length: count }, (_, i) => `match: { path: /path-${i} }`);
  const all = pathsOf(exact(20));
  expect([all.tried.length, all.untried]).toEqual([20, []]);
  const more = pathsOf([...exact(22), 'match: { path: /x/* }']);
  expect(more.tried.at(-1)).toEqual({ target: '/path-19', policy: 'p19' });
  expect(more.untried).toEqual(['/path-20', '/path-21', '/x/*']);
});

async function findings(
  answers: Readonly<Record<string, Answer | undefined>>,
  untried: readonly string[] = [],
) {
  await using proxy = await answering(({ url = '' }) => answers[url]);
  const targets = Object.keys(answers).map((target, i) => ({ target, policy: `p${i}` }));
  const url = new URL(`${proxy.url}/here`);
  const found: string[] = [];
  for await (const each of pathFindings({ tried: targets, untried: [...untried] }, { url }))
    found.push(`${each.file.replace(proxy.url, '')} ${each.rule}: ${each.message}`);
  expect(proxy.asked).toEqual(targets.map(({ target }) => `HEAD ${target}`));
  return found;
}

const LIMITED = { status: 404, headers: { 'x-ratelimit-limit': '5' } };
const missing = (path: string, policy: string, status: number) =>
  `${path} not-limited: policy ${policy} is for this path, and HEAD got status ${status} without X-RateLimit-Limit`;

test('limited paths are named in one finding, at the URL', async () => {
  expect(await findings({ '/a': LIMITED, '/b': LIMITED })).toEqual([
    '/here through: headgate checks /a, /b, too',
  ]);
});

test('a path without a limit is named with its policy and status', async () => {
  expect(await findings({ '/a': LIMITED, '/b': { status: 200 }, '/c': { status: 404 } })).toEqual([
    missing('/b', 'p1', 200),
    missing('/c', 'p2', 404),
    '/here through: headgate checks /a, too',
  ]);
});

test('redirects, 299 and 400', async () => {
  expect(
    await findings({
      '/a': { status: 299 },
      '/b': { status: 300 },
      '/c': { status: 399 },
      '/d': { status: 400 },
    }),
  ).toEqual([missing('/a', 'p0', 299), missing('/d', 'p3', 400)]);
});

test('nothing is said of a path without an answer, or of one that passes unchecked for a while', async () => {
  const bypass = { headers: { 'x-ratelimit-bypass': 'timeout' } };
  expect(await findings({ '/a': undefined, '/b': bypass })).toEqual([]);
});

test('untried paths are named, after those that are limited', async () => {
  expect(await findings({}, ['/api/*', '/x'])).toEqual([
    '/here through: not tried: /api/*, /x (name such a URL with --through)',
  ]);
  expect(await findings({ '/a': LIMITED }, ['/api/*'])).toEqual([
    '/here through: headgate checks /a, too; not tried: /api/* (name such a URL with --through)',
  ]);
});
