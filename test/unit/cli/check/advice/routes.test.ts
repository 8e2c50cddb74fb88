/** Of very many policies, the last are not tried, and one line says so. */
import { expect, test } from 'vitest';
import { adviceOnRoutes } from '../../../../../src/cli/check/advice/routes.ts';
import { compilePolicies } from '../../../../../src/gateway/config/policy-file/compile.ts';
import { validatePolicyFile } from '../../../../../src/gateway/config/policy-file/validate.ts';
import { policyFileContext } from '../../../../support/policies.ts';

const MOST = 500;

function untried(count: number) {
  const { file } = validatePolicyFile(
    [
      'version: 1',
      'identity: { sources: [ip] }',
      'default: { limits: [100/1min] }',
      'policies:',
      ...Array.from(
        { length: count },
        (_, i) => `  - { name: p${i}, match: { method: GET, path: /p${i} }, limits: [5/1min] }`,
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
