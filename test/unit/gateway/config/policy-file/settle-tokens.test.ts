import { expect, test } from 'vitest';
import { settleTokenMistakes } from '../../../../../src/gateway/config/policy-file/settle-tokens.ts';
import { validatePolicyFile } from '../../../../../src/gateway/config/policy-file/validate.ts';
import { policyFileContext } from '../../../../support/policies.ts';

const limits = (count: number, refund = true) =>
  Array.from({ length: count }, (_, i) => ({
    rate: '10/1h',
    per: `header:x-${i}`,
    ...(refund && { refund: { status: [204] } }),
  }));

function mistakesOf(file: object) {
  const text = JSON.stringify({ version: 1, default: { limits: ['1000/1h'] }, ...file });
  const { file: valid } = validatePolicyFile(text, 'policies.yaml', policyFileContext());
  return settleTokenMistakes(valid, { cloudflare: [] }).map(({ path, message }) => [path, message]);
}

test('a token that is too long is refused where its policy stands', () => {
  const message = expect.stringMatching(
    /^limits with reserve or refund need a settle token of \d{3} characters, the maximum is 600: /,
  );
  const policy = { name: 'login', match: { path: '/login' } };
  expect(mistakesOf({ policies: [{ ...policy, limits: limits(16) }] })).toEqual([
    [['policies', 0], message],
  ]);
  expect(mistakesOf({ default: { limits: limits(16) } })).toEqual([[['default'], message]]);
  expect(mistakesOf({ policies: [{ ...policy, limits: limits(16, false) }] })).toEqual([]);
});

test('limits of policies that always apply are in the same token', () => {
  const policies = [
    { name: 'login', match: { path: '/login' }, limits: limits(8) },
    { name: 'all', match: { path: '/*' }, always: true, limits: limits(8) },
  ];
  expect(mistakesOf({ policies })).toEqual([
    [['policies', 0], expect.stringContaining('together with those of policies with always: true')],
  ]);
});

test('limits for which a call of MCP without headers counts at once are in the same token', () => {
  const tool = (name: string) => ({
    name,
    match: { path: '/mcp', mcp: { method: 'tools/call', name } },
    limits: limits(8),
  });
  const file = (mcp: object) => ({
    policies: [
      tool('search'),
      tool('report'),
      { name: 'bare', match: { path: '/mcp', mcp }, limits: ['5/1min'] },
    ],
  });
  expect(mistakesOf(file({ method: 'none' }))).toEqual([]);
  expect(mistakesOf(file({ none: 'strict' }))).toEqual([
    [['policies', 2], expect.stringContaining('of this policy and, by "none: strict", of tools')],
  ]);
});
