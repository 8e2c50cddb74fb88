/** Of very many policies, the last are not tried, and one line says so. */
import { expect, test } from 'vitest';
import { adviceOnRoutes } from '../../../../../src/cli/check/advice/routes.ts';
import { compilePolicies } from '../../../../../src/gateway/config/policy-file/compile.ts';
import { validatePolicyFile } from '../../../../../src/gateway/config/policy-file/validate.ts';
import { policyFileContext } from '../../../../support/policies.ts';

const MOST = 500;

function untried(count: number, pathOf = (i: number) => `/p${i}`) {
  const { file } = validatePolicyFile(
    [
      'version: 1',
      'identity: { sources: [ip] }',
      'default: { limits: [100/1min] }',
      'policies:',
      ...Array.from(
        { length: count },
        (_, i) =>
          `  - { name: p${i}, match: { method: GET, path: ${pathOf(i)} }, limits: [5/1min] }`,
      ),
    ].join('\n'),
    'policies.yaml',
    policyFileContext(),
  );
  const policySet = compilePolicies(file, { cloudflare: [] });
  return adviceOnRoutes(file.entries, policySet).filter(
    ({ rule }) => rule === 'policies-not-tried',
  );
}

test('the first policy that is not tried is the place', () => {
  expect(untried(MOST)).toEqual([]);
  expect(untried(MOST + 2)).toEqual([
    {
      rule: 'policies-not-tried',
      path: ['policies', MOST],
      message: 'the last 2 policies were not tested for matches and spellings',
    },
  ]);
});

test('each path of a list counts', () => {
  const ten = (i: number) => `[${Array.from({ length: 10 }, (_, j) => `/p${i}-${j}`).join(', ')}]`;
  expect(untried(MOST / 10, ten)).toEqual([]);
  expect(untried(MOST / 10 + 3, ten)).toMatchObject([
    { path: ['policies', MOST / 10], message: expect.stringContaining('the last 3 policies') },
  ]);
});
