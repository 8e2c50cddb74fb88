/** Clients and steps with what filters of Envoy say: users and plans that a token names. */
import { describe, expect, test } from 'vitest';
import { failuresOf, mistakesIn, testFile } from '../../../support/policy-tests.ts';

const JWT = 'envoy.filters.http.jwt_authn';
const POLICIES = `version: 1
identity:
  sources: [user, ip]
  user: { metadata: ${JWT}, claim: [payload, sub] }
  plan: { metadata: ${JWT}, claim: [payload, plan] }
default: { limits: [3/1h], plans: { pro: [100/1h] } }
`;
const HEAD = `clients:
  alice: { address: 203.0.113.9, metadata: { ${JWT}: { payload: { sub: alice, plan: pro } } } }
  bob: { address: 203.0.113.9 }
`;
const FILES = { 'policies.yaml': POLICIES };
const failures = (...steps: string[]) => failuresOf(steps, HEAD, FILES);
const mistakes = (step: string) => mistakesIn({ ...FILES, 'a_test.yaml': testFile([step], HEAD) });
const remaining = (client: string, units: number, more = '') =>
  `{ client: ${client}, send: GET /, expect: { remaining: ${units} }${more} }`;
const says = (claims: string) => `, metadata: { ${JWT}: { payload: { ${claims} } } }`;

describe('the token of a client', () => {
  test('names its user and its plan', async () => {
    expect(
      await failures(remaining('alice', 99), remaining('alice', 98), remaining('bob', 2)),
    ).toEqual([]);
  });

  test('is another one for a step', async () => {
    expect(
      await failures(
        remaining('bob', 99, says('sub: alice, plan: pro')),
        remaining('alice', 98),
        remaining('alice', 2, says('sub: carol')),
        remaining('alice', 1, says('sub: [carol], plan: [pro, basic]')),
        remaining('alice', 2, says('sub: 42, plan: free')),
      ),
    ).toEqual([]);
  });

  test('is left out by null, or says nothing that is a name', async () => {
    expect(
      await failures(
        remaining('alice', 2, `, metadata: { ${JWT}: null }`),
        remaining('alice', 1, says('sub: true, plan: pro')),
        remaining('bob', 0, ', metadata: { another.filter: { payload: { sub: alice } } }'),
      ),
    ).toEqual([]);
  });

  test('names the client that an operator blocks', async () => {
    expect(
      await failures(
        '{ override: { block: alice, for: 1h } }',
        '{ client: alice, send: GET /, expect: { verdict: deny, status: 403 } }',
        remaining('bob', 2),
      ),
    ).toEqual([]);
  });
});

const STEP = 'client: bob, send: GET /, expect: allow, metadata';
const AT = 'invalid-value: tests[0].steps[0].metadata';

test.each([
  [
    `{ ${STEP}: { ${JWT}: alice } }`,
    `8:94: ${AT}.${JWT}: must be a map of what the filter says, as in { payload: { sub: alice } }`,
  ],
  [
    `{ ${STEP}: { envoy.ai.request_info: many } }`,
    `8:87: ${AT}.envoy.ai.request_info: must be a number, not text`,
  ],
  [`{ ${STEP}: alice }`, `8:62: ${AT}: must be a map, not text`],
])('a mistake: %s', async (step, message) => {
  expect(await mistakes(step)).toEqual([message]);
});
