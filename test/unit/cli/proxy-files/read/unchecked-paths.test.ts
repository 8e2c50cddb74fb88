import { describe, expect, test } from 'vitest';
import { pathPolicies } from '../../../../../src/cli/proxy-files/read/path-policies.ts';
import {
  type Choice,
  uncheckedPaths,
} from '../../../../../src/cli/proxy-files/read/unchecked-paths.ts';
import { validFile } from '../../../../support/proxy-config.ts';

const POLICIES = validFile(`version: 1
identity: { sources: [ip] }
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { path: /login }, limits: [5/5min] }
  - { name: users, match: { path: /users/:id }, limits: [5/5min] }
  - { name: asleep, mode: 'off', match: { path: /asleep }, limits: [5/5min] }
  - { name: shop, match: { host: shop.example, path: /basket }, limits: [5/5min] }
`);

const WAY = { what: 'location /', place: 'site:3' } as const;
const to = (isUnchecked: boolean): Choice => ({ ...WAY, isUnchecked });

const findings = (
  choose: (path: string) => Choice | undefined,
  { hosts = undefined as readonly string[] | undefined, paths = [] as readonly string[] } = {},
) => uncheckedPaths([{ hosts, paths, choose }], POLICIES).map(({ message }) => message);

test('each way is one finding, with all policies that limit it', () => {
  expect(findings(() => to(true))).toEqual([
    'location / passes requests on without asking headgate, and policies login, users limit such requests',
  ]);
});

describe('nothing is found', () => {
  test('if all requests are checked, or the file does not tell', () => {
    expect(findings(() => to(false))).toEqual([]);
    expect(findings(() => undefined)).toEqual([]);
  });

  test('of a policy that limits a path only in part', () => {
    const numbers = (path: string) => to(!/^\/users\/\d+$/.test(path) && path !== '/login');
    expect(findings(numbers)).toEqual([]);
    const words = (path: string) => to(/^\/users\/\d+$/.test(path));
    expect(findings(words)).toEqual([]);
    // The file does not tell of the others.
    expect(findings((path) => (path === '/users/1' ? to(true) : undefined))).toEqual([]);
  });

  test('of a policy of another host, or one that is off', () => {
    const basket = (path: string) => to(path === '/basket' || path === '/asleep');
    expect(findings(basket)).toEqual([]);
    expect(findings(basket, { hosts: ['api.example'] })).toEqual([]);
    expect(findings(basket, { hosts: ['shop.example'] })).toHaveLength(1);
  });
});

test('a policy with a list is named for each of its paths, other than those of everything', () => {
  const file = validFile(`version: 1
default: { limits: [1000/1h] }
policies: [{ name: login, match: { path: [/*, /login, /sign-in] }, limits: [5/5min] }]
`);
  const found = (path: string, open: string) =>
    uncheckedPaths(
      [{ hosts: undefined, paths: [path], choose: (each) => to(each === open) }],
      file,
    );
  expect(found('/sign-in', '/sign-in')).toMatchObject([
    { message: expect.stringContaining('policy login limits such requests') },
  ]);
  expect(found('/other', '/other')).toEqual([]);
});

test('a path that the file of the proxy names is unchecked if it is passed on so', () => {
  const choose = (path: string) => to(path === '/users/42');
  expect(findings(choose)).toEqual([]);
  expect(findings(choose, { paths: ['/users/42'] })).toEqual([
    'location / passes requests on without asking headgate, and policy users limits such requests',
  ]);
});

test('policies for MCP calls share a path, and all of them are named', () => {
  const file = validFile(`version: 1
identity: { sources: [ip] }
default: { limits: [1000/1h] }
policies:
  - { name: search, match: { path: /mcp, mcp: { method: tools/call, name: [a, b] } }, limits: [5/5min] }
  - { name: bare, match: { path: /mcp, mcp: { method: none } }, limits: [5/5min] }
  - { name: posts, match: { path: /mcp, method: POST }, limits: [5/5min] }
`);
  const choose = (path: string) => to(path === '/mcp');
  const sites = [{ hosts: undefined, paths: ['/mcp'], choose }];
  expect(uncheckedPaths(sites, file).map(({ message }) => message)).toEqual([
    'location / passes requests on without asking headgate, and policies search, bare, posts limit such requests',
  ]);
  expect(
    pathPolicies(file, undefined)
      .policiesFor('/mcp')
      .map(({ entry }) => entry.name),
  ).toEqual(['posts', 'search', 'bare']);
});
