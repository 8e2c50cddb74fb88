import { expect, test } from 'vitest';
import { byFailureMode } from '../../../../src/gateway/core/policy.ts';
import { policySetFrom } from '../../../support/policies.ts';

test('policies are grouped by on_store_failure; those that are not enforced are left out', () => {
  const { policies } = policySetFrom(`
version: 1
default: { limits: [9/1h] }
policies:
  - { name: a, match: { path: /a }, limits: [9/1h], on_store_failure: deny }
  - { name: b, match: { path: /b }, limits: [9/1h], on_store_failure: local }
  - { name: c, match: { path: /c }, limits: [9/1h], on_store_failure: local, mode: shadow }
  - { name: d, match: { path: /d }, limits: [9/1h], on_store_failure: deny, mode: off }
  - { name: e, match: { path: /e }, limits: [9/1h], on_store_failure: local }`);
  expect(byFailureMode(policies)).toEqual({ allow: ['default'], local: ['b', 'e'], deny: ['a'] });
});
