/** Which policies apply to the request lines of a log, remembered. */
import { expect, test } from 'vitest';
import { MatchedPolicies } from '../../../../../src/cli/evidence/replay/matched-policies.ts';
import { policySetFrom } from '../../../../support/policies.ts';

const POLICIES = policySetFrom(`
version: 1
default: { limits: [9/1h] }
policies:
  - { name: site, match: { host: b.example, path: /x }, limits: [5/1min] }
`);

test('a method and a host that read alike together are told apart', () => {
  const matched = new MatchedPolicies(POLICIES, new Map(), (applied) =>
    applied.map(({ name }) => name),
  );
  const target = '/x';
  expect(matched.of({ method: 'GET b.example', host: undefined, target })).toEqual(['default']);
  expect(matched.of({ method: 'GET', host: 'b.example', target })).toEqual(['site']);
  expect(matched.of({ method: '', host: 'GET b.example', target })).toEqual(['default']);
});

test('an MCP call of a log without its headers counts as one without headers', () => {
  const policies = policySetFrom(`
version: 1
default: { limits: [9/1h] }
policies:
  - { name: bare, match: { path: /mcp, mcp: { method: none, none: strict } }, limits: [5/1min] }
  - { name: tool, match: { path: /mcp, mcp: { method: tools/call, name: a } }, limits: [5/1min] }
`);
  const matched = new MatchedPolicies(policies, new Map(), (applied) =>
    applied.map(({ name }) => name),
  );
  const line = { host: undefined, target: '/mcp' };
  expect(matched.of({ ...line, method: 'POST' })).toEqual(['bare', 'tool']);
  expect(matched.of({ ...line, method: 'GET' })).toEqual(['default']);
});
