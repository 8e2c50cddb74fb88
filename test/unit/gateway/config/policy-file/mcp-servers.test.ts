/** Mistakes in policies for MCP calls. The fixtures named mcp-* have their messages. */
import { describe, expect, test } from 'vitest';
import { validatePolicyFile } from '../../../../../src/gateway/config/policy-file/validate.ts';
import { policyFileContext, policySetFrom } from '../../../../support/policies.ts';
import { diagnosticsIn } from '../../../cli/check/advice/diagnostics-in.ts';

const HEAD = 'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [1000/1h] }\npolicies:\n';
const policy = (name: string, match: string, rest = 'limits: [20/1min]') =>
  `- { name: ${name}, match: { ${match} }, ${rest} }\n`;
const NONE = policy('bare', 'path: /mcp, mcp: { method: none }');
const found = (...policies: string[]) =>
  diagnosticsIn(HEAD + policies.join('')).map(({ rule, path }) => `${rule} ${path}`);

describe('a path without a policy for calls without headers', () => {
  test.each([
    ['a name', policy('a', 'path: /mcp, mcp: { method: tools/call, name: x }')],
    ['a parameter', policy('a', 'path: "/t/:tenant/mcp", mcp: { method: tools/call }')],
    ['a path that YAML must have in quotes', policy('a', 'path: "/a,b", mcp: { method: ping }')],
    ['a name in another script', policy('a', 'path: /bürö/mcp, mcp: { method: tools/call }')],
    [
      'two hosts',
      policy('a', 'host: a.example, path: /m, mcp: { method: tools/* }'),
      policy('b', 'host: "*.example", path: /m, mcp: { method: tools/list }'),
    ],
    ['a list of paths', policy('a', 'path: [/a, /b, "/c/:d"], mcp: { method: tools/call }')],
    ['a cost', policy('a', 'path: /m, mcp: { method: tools/call }', 'limits: [20/1min], cost: 7')],
    [
      'limits of others',
      policy(
        'a',
        'path: /m, mcp: { method: tools/call }',
        'limits: [{ rate: 5/1h, per: global }, { rate: 10/month, per: ip }]',
      ),
    ],
    [
      'its suggested name taken',
      policy('mcp-none', 'path: /m, mcp: { method: tools/call }'),
      policy('mcp-none-2', 'path: /x'),
    ],
  ])('is an error whose line repairs it: %s', (_, ...policies) => {
    const text = HEAD + policies.join('');
    const errors = diagnosticsIn(text).filter(({ rule }) => rule === 'mcp-without-none');
    expect(errors.length).toBeGreaterThan(0);
    const lines = errors.map(({ message }) => message.slice(message.indexOf('add: ') + 5));
    const repaired = diagnosticsIn(`${text}${lines.join('\n')}\n`);
    expect(repaired.filter(({ severity }) => severity !== 'info')).toEqual([]);
  });

  test('is one for each host and path, and none if other spellings name it', () => {
    const call = (where: string) => policy('a', `${where}, mcp: { method: tools/call }`);
    expect(found(call('path: /mcp'), NONE)).toEqual([]);
    expect(found(call('path: /MCP'), NONE)).toEqual([]);
    expect(found(call('path: "/:a"'), policy('b', 'path: "/:b", mcp: { none: strict }'))).toEqual(
      [],
    );
    expect(found(call('host: a.example, path: /mcp'), NONE)).toEqual([
      'mcp-without-none policies[0].match.path',
    ]);
    expect(found(call('path: [/mcp, /other]'), NONE)).toEqual([
      'mcp-without-none policies[0].match.path[1]',
    ]);
    const cased = HEAD.replace('identity', 'matching: { case_sensitive: true }\nidentity');
    const paths = diagnosticsIn(cased + call('path: /MCP') + NONE).map(({ rule }) => rule);
    expect(paths).toContain('mcp-without-none');
  });
});

test('routes whose parameters have other names belong to one server', () => {
  const set = policySetFrom(
    `${HEAD}${policy('a', 'path: "/t/:tenant", mcp: { method: tools/call }')}${policy('b', 'path: "/t/:id", mcp: { method: none }')}`,
  );
  const names = (headers: Record<string, string>) =>
    set
      .policiesFor({
        ...{ method: 'POST', host: 'a.example', target: '/t/1', policy: undefined, missing: [] },
        headers,
      })
      .map(({ name }) => name);
  expect(names({})).toEqual(['b']);
  expect(
    names({ 'mcp-method': 'tools/call', 'mcp-name': 'x', 'mcp-protocol-version': '2026-07-28' }),
  ).toEqual(['a']);
});

describe('policies for the same calls', () => {
  const call = (name: string, mcp: string, rest?: string) =>
    policy(name, `path: /mcp, mcp: { ${mcp} }`, rest);
  test.each([
    [
      'the same name',
      'method: tools/call, name: x',
      'method: [tools/list, tools/call], name: [y, x]',
    ],
    ['no name and every name', 'method: tools/call', 'method: tools/call, name: "*"'],
    ['the same beginning', 'method: tools/call, name: x_*', 'method: tools/call, name: x_*'],
    ['calls without headers', 'method: none', 'none: strict'],
  ])('tie: %s', (_, one, other) => {
    const bare = one.includes('none') ? '' : NONE;
    const ties = found(bare, call('a', one), call('b', other)).map((each) => each.split(' ')[0]);
    expect(ties).toEqual(['policies-tie']);
  });
  test.each([
    ['another method', 'method: tools/call', 'method: tools/list'],
    [
      'a beginning and one of its names',
      'method: tools/call, name: x*',
      'method: tools/call, name: x',
    ],
    ['another letter case of a name', 'method: tools/call, name: x', 'method: tools/call, name: X'],
    [
      'commas, blanks and umlauts',
      'method: tools/call, name: "a, b"',
      'method: tools/call, name: " bürö "',
    ],
  ])('do not tie with %s', (_, one, other) => {
    expect(found(NONE, call('a', one), call('b', other))).toEqual([]);
  });
  test('do not tie with a policy for every POST, whatever its path has in it', () => {
    const plain = policy('p', 'method: POST, path: /mcp');
    expect(found(NONE, call('a', 'method: tools/call'), plain)).toEqual([]);
    const odd = policy('p', 'method: POST, path: "/mcp%20tools/call%20x"');
    expect(found(NONE, call('a', 'method: tools/call, name: x'), odd)).toEqual([]);
  });
});

describe('none: strict', () => {
  const tools = (count: number, rest?: string) =>
    Array.from({ length: count }, (_, i) =>
      policy(`t${i}`, `path: /mcp, mcp: { method: tools/call, name: t${i} }`, rest),
    );
  const strict = policy('bare', 'path: /mcp, mcp: { none: strict }');
  test('counts for 16 policies at most, itself among them', () => {
    expect(found(strict, ...tools(15), policy('l', 'path: /mcp, mcp: { method: ping }'))).toEqual(
      [],
    );
    expect(found(strict, ...tools(16))).toEqual(['invalid-value policies[0].match.mcp.none']);
    expect(found(NONE, ...tools(16))).toEqual([]);
  });
});

test('headers that a proxy vouches for are used if a policy is for MCP calls', () => {
  const text = (policies: string) =>
    diagnosticsIn(
      HEAD.replace('[ip]', '[ip], verified_headers: [mcp-method, mcp-name]') + policies,
    ).map(({ rule }) => rule);
  expect(text(NONE)).toEqual([]);
  expect(text(policy('a', 'path: /mcp'))).toEqual([
    'verified-header-unused',
    'verified-header-unused',
  ]);
});

test('a policy has at most 1024 combinations of path, method and name', () => {
  const list = (count: number) =>
    `[${Array.from({ length: count }, (_, i) => `n${i}`).join(', ')}]`;
  const of = (names: number) =>
    policy('a', `path: /mcp, mcp: { method: ${list(32)}, name: ${list(names)} }`);
  const errors = (text: string) =>
    diagnosticsIn(HEAD + text + NONE).filter(({ severity }) => severity === 'error');
  expect(errors(of(32))).toEqual([]);
  expect(errors(of(33))).toMatchObject([{ rule: 'invalid-value', path: 'policies[0].match.mcp' }]);
});

test('thousands of policies of one path are one server', () => {
  const many = Array.from({ length: 5_000 }, (_, i) =>
    policy(`t${i}`, `path: /mcp, mcp: { method: tools/call, name: t${i} }`),
  ).join('');
  const { file } = validatePolicyFile(HEAD + NONE + many, 'p.yaml', policyFileContext());
  expect(file.entries).toHaveLength(5_001);
});
