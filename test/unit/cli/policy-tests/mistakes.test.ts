/** Mistakes in test files: each is reported with its place, and all of them at once. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mistakesIn, POLICIES, testFile } from '../../../support/policy-tests.ts';
import { rounds } from '../../../support/short-form.ts';

const inSteps = (...steps: string[]) => mistakesIn({ 'a_test.yaml': testFile(steps) });
const LOGIN = 'client: alice, send: POST /login';
const GOOD = `{ ${LOGIN}, expect: allow }`;

test.each([
  [
    '{ }',
    '8:9: missing-key: tests[0].steps[0]: must have one of send, settle, store, reload and override',
  ],
  [
    '{ store: down, reload: policies.yaml }',
    '8:9: invalid-value: tests[0].steps[0]: has store and reload, make each of them a step',
  ],
  [
    '{ store: down, client: alice }',
    '8:32: invalid-value: tests[0].steps[0].client: is only for a step with send',
  ],
  [
    '{ store: dwn }',
    '8:18: invalid-value: tests[0].steps[0].store: must be down or up, not "dwn", did you mean "down"?',
  ],
  [
    `{ ${LOGIN} }`,
    '8:9: missing-key: tests[0].steps[0].expect: is missing, it must be allow, deny, or a map such as { verdict: deny }',
  ],
  [
    '{ send: POST /login, expect: allow }',
    '8:9: missing-key: tests[0].steps[0].client: is missing, it must be a name under clients',
  ],
  [
    '{ client: alise, send: POST /login, expect: allow }',
    '8:19: invalid-value: tests[0].steps[0].client: is not a client of this file, did you mean "alice"?',
  ],
  [
    '{ client: zacharias, send: POST /login, expect: allow }',
    '8:19: invalid-value: tests[0].steps[0].client: is not a client of this file, known are alice, bob',
  ],
  [
    '{ client: alice, send: login, expect: allow }',
    '8:32: invalid-value: tests[0].steps[0].send: must be a method and a target, such as "POST /api/auth/login"',
  ],
  [
    `{ at: 10, ${LOGIN}, expect: allow }`,
    '8:15: invalid-value: tests[0].steps[0].at: must be a duration such as "90s" or "1h30min"',
  ],
  [
    `{ ${LOGIN}, every: 5s, expect: allow }`,
    '8:52: invalid-value: tests[0].steps[0].every: needs times, at least 2',
  ],
  [
    `{ ${LOGIN}, expect: alow }`,
    '8:53: invalid-value: tests[0].steps[0].expect: must be allow or deny, not "alow", did you mean "allow"?',
  ],
  [
    `{ ${LOGIN}, expect: {} }`,
    '8:53: invalid-value: tests[0].steps[0].expect: must say what is expected, such as "verdict: deny"',
  ],
  [
    `{ ${LOGIN}, expect: { not: { policy: logni } } }`,
    '8:70: invalid-value: tests[0].steps[0].expect.not.policy: is not a policy of policies.yaml, did you mean "login"?',
  ],
  [
    `{ ${LOGIN}, expect: { would_deny: zacharias } }`,
    '8:67: invalid-value: tests[0].steps[0].expect.would_deny: is not a policy of policies.yaml, it has login, pay, admin, trial, default',
  ],
  [
    `{ ${LOGIN}, expect: { remaning: 1 } }`,
    '8:55: unknown-key: tests[0].steps[0].expect.remaning: is not a known key, did you mean "remaining"?',
  ],
  [
    `{ ${LOGIN}, expect: { body: { } } }`,
    '8:61: invalid-value: tests[0].steps[0].expect.body: must have contains or json',
  ],
  [
    '{ reload: nothing.yaml }',
    '8:19: unreadable-file: tests[0].steps[0].reload: names nothing.yaml, which does not exist',
  ],
  [
    '{ override: { block: alice } }',
    '8:21: invalid-value: tests[0].steps[0].override: must say how long, such as "for: 10min"',
  ],
  [
    '{ override: { unblock: alice, for: 1h } }',
    '8:21: invalid-value: tests[0].steps[0].override: has for, which unblock does not take',
  ],
  [
    '{ override: { block: alice, exempt: alice, for: 1h } }',
    '8:21: invalid-value: tests[0].steps[0].override: must have one of block, exempt, mode, unblock, unexempt and restore',
  ],
  [
    '{ override: { block: alise, for: 1h } }',
    '8:30: invalid-value: tests[0].steps[0].override.block: is not a client of this file, did you mean "alice"?',
  ],
  [
    '{ override: { block: alice, for: 32d } }',
    '8:42: invalid-value: tests[0].steps[0].override.for: must be at most 31d',
  ],
  [
    '{ override: { mode: { policy: logni, mode: off }, for: 1h } }',
    '8:39: invalid-value: tests[0].steps[0].override.mode.policy: is not a policy of policies.yaml, did you mean "login"?',
  ],
])('in the step %s', async (step, mistake) => {
  expect(await inSteps(step)).toEqual([mistake]);
});

test('a client that operators could not name', async () => {
  expect(await inSteps('{ override: { block: zacharias, for: 1h } }')).toEqual([
    expect.stringMatching(
      /override\.block: is not a client of this file, nor one as operators name it: .*203\.0\.113\.9/,
    ),
  ]);
});

test('steps do not go back in time', async () => {
  const steps = [
    `{ at: 10s, ${LOGIN}, times: 3, every: 5s, expect: allow }`,
    `{ at: 19s, ${LOGIN}, expect: deny }`,
    `{ at: 20s, ${LOGIN}, expect: deny }`,
  ];
  expect(await inSteps(...steps)).toEqual([
    '9:15: invalid-value: tests[0].steps[1].at: is before 20s, when the step before it ends',
  ]);
});

test('a step does not go on for ever', async () => {
  expect(await inSteps(`{ ${LOGIN}, times: 3651, every: 1d, expect: allow }`)).toEqual([]);
  expect(await inSteps(`{ ${LOGIN}, times: 3652, every: 1d, expect: allow }`)).toEqual([
    '8:9: invalid-value: tests[0].steps[0]: must end at most 3650d after the start',
  ]);
});

test('nobody changes a gateway while its store is down', async () => {
  const override = '{ override: { block: alice, for: 1h } }';
  expect(await inSteps('{ store: down }', override, '{ store: up }', override)).toEqual([
    '9:21: invalid-value: tests[0].steps[1].override: cannot be made while the store is down, put it before that step',
  ]);
});

test('policies are those in force at the step', async () => {
  const files = {
    'other.yaml': POLICIES.replace('name: login', 'name: enter'),
    'a_test.yaml': testFile([
      `{ ${LOGIN}, expect: { policy: enter } }`,
      '{ reload: other.yaml }',
      `{ ${LOGIN}, expect: { policy: enter } }`,
      `{ ${LOGIN}, expect: { policy: login } }`,
    ]),
  };
  expect(await mistakesIn(files)).toEqual([
    '8:63: invalid-value: tests[0].steps[0].expect.policy: is not a policy of policies.yaml, it has login, pay, admin, trial, default',
    '11:63: invalid-value: tests[0].steps[3].expect.policy: is not a policy of other.yaml, it has enter, pay, admin, trial, default',
  ]);
});

const HEAD = 'policies: policies.yaml\nclients: { a: { address: 203.0.113.9 } }\n';
const TESTS = 'tests: [{ name: t, steps: [{ store: down }] }]\n';

test.each([
  [
    '',
    ['1:1: invalid-yaml: the file is empty, it needs at least "policies", "clients" and "tests"'],
  ],
  [
    '- a',
    ['1:1: invalid-value: the file must be a map, not a list, with lines such as "key: value"'],
  ],
  ['a: [', [expect.stringMatching(/^1:\d+: invalid-yaml: /)]],
  [
    'polices: x',
    [
      '1:1: unknown-key: polices: is not a known key, did you mean "policies"?',
      '1:1: missing-key: clients: is missing, it must be a map',
      '1:1: missing-key: policies: is missing, it must be text',
      '1:1: missing-key: tests: is missing, it must be a list',
    ],
  ],
  [`${HEAD}tests: []`, ['3:8: invalid-value: tests: must have at least 1 entry']],
  [
    `${HEAD}tests: [{ nam: t, steps: {} }]`,
    [
      '3:11: unknown-key: tests[0].nam: is not a known key, did you mean "name"?',
      '3:26: invalid-value: tests[0].steps: must be a list, not a map, begin each entry with "- "',
    ],
  ],
  [
    `${HEAD}tests: [{ name: t, steps: [{ store: up }] }, { name: t, steps: [{ store: up }] }]`,
    ['3:54: invalid-value: tests[1].name: is the name of an earlier test, choose another'],
  ],
  [
    `${HEAD}${TESTS}start: 2026-01-05`,
    ['4:8: invalid-value: start: must be a time from 2000 to 2099, such as 2026-01-05T12:00:00Z'],
  ],
  [
    `${HEAD}${TESTS}proxy: ngnix`,
    [expect.stringMatching(/^4:8: invalid-value: proxy: .*, did you mean "nginx"\?$/)],
  ],
  [`${HEAD}${TESTS}gateways: 0`, ['4:11: invalid-value: gateways: must be at least 1']],
  [
    `${HEAD}${TESTS}api_keys: [{ id: a, plam: pro }]`,
    ['4:21: unknown-key: api_keys[0].plam: is not a known key, did you mean "plan"?'],
  ],
  [
    `policies: policies.yaml\nclients: { a: { address: 203.0.113 }, b: { peer: 10.0.0.1 } }\n${TESTS}`,
    [
      '2:26: invalid-value: clients.a.address: "203.0.113" is not an address',
      '2:42: missing-key: clients.b.address: is missing, it must be text',
    ],
  ],
  [
    `policies: policies.yaml\nclients: { a: { address: 203.0.113.9, headers: { x-n: 1 } } }\n${TESTS}`,
    [
      '2:55: invalid-value: clients.a.headers.x-n: must be text (a number needs quotes) or a list of texts',
    ],
  ],
  [
    `policies: policies.yaml\nclients: { a: { address: 203.0.113.9, api_key: acme } }\n${TESTS}`,
    [
      '2:48: invalid-value: clients.a.api_key: is not the id of a key in policies.yaml, nor one under api_keys',
    ],
  ],
  [
    `policies: nothing.yaml\nclients: {}\n${TESTS}`,
    ['1:11: unreadable-file: policies: names nothing.yaml, which does not exist'],
  ],
])('in the file %j', async (text, mistakes) => {
  const found = await mistakesIn({ 'a_test.yaml': text });
  expect(found.sort()).toEqual(mistakes.sort());
});

test('a step with a mistake is not the only one that is reported', async () => {
  expect(await inSteps('{ store: dwn }', GOOD, '{ }', '{ override: {} }')).toHaveLength(3);
});

test('mistakes of a policy file are reported once, beside those of all test files', async () => {
  const text = `policies: bad.yaml\nclients: {}\n${TESTS}`;
  const files = {
    'bad.yaml': 'version: 1\ndefault: { limits: [5/5m] }\npolices: []\n',
    'a_test.yaml': text,
    'b_test.yaml': `${text}strat: 1\n`,
    'c_test.yaml': `${HEAD}tests: []`,
  };
  expect(await mistakesIn(files)).toEqual([
    '2:21: invalid-value: default.limits[0]: "5/5m" is not a rate, write "5/5min"',
    '3:1: unknown-key: polices: is not a known key, did you mean "policies"?',
    '4:1: unknown-key: strat: is not a known key, did you mean "start"?',
    '3:8: invalid-value: tests: must have at least 1 entry',
  ]);
});

test('a file with thousands of mistakes is refused soon', async () => {
  const steps = Array.from({ length: 5_000 }, () => '{ nothing: 1 }');
  const found = await inSteps(...steps);
  expect(found.length).toBeGreaterThanOrEqual(1_000);
  expect(found.length).toBeLessThan(1_010);
});

test('whatever stands in a test file, its mistakes are reported', async () => {
  const shipped = readFileSync(
    new URL('../../../../config/policies_test.yaml', import.meta.url),
    'utf8',
  );
  const text = shipped.slice(0, 3_000);
  const junk = ['', '{', ']', ': ', '- ', '"', '&a ', '*a', 'null', '[[]]', '\u0000', '1e999', '~'];
  const place = fc.nat(text.length);
  await fc.assert(
    fc.asyncProperty(place, fc.nat(9), fc.constantFrom(...junk), async (at, removed, added) => {
      const damaged = text.slice(0, at) + added + text.slice(at + removed);
      expect(Array.isArray(await mistakesIn({ 'a_test.yaml': damaged }))).toBe(true);
    }),
    { numRuns: rounds(150) },
  );
  const odd = fc.anything({ maxDepth: 4, key: fc.constantFrom(...KEYS), withNullPrototype: false });
  await fc.assert(
    fc.asyncProperty(odd, odd, odd, async (step, client, test) => {
      const file = {
        policies: 'policies.yaml',
        clients: { a: client },
        tests: [{ steps: [step] }, test],
      };
      expect((await mistakesIn({ 'a_test.yaml': JSON.stringify(file) })).length).toBeGreaterThan(0);
    }),
    { numRuns: rounds(150) },
  );
});

const KEYS = [
  ...['at', 'send', 'client', 'host', 'headers', 'times', 'every', 'expect', 'store', 'reload'],
  ...['override', 'block', 'mode', 'policy', 'for', 'not', 'body', 'json', 'address', 'api_key'],
  ...['name', 'skip', 'steps', 'verdict', 'remaining', 'toString', 'constructor'],
];
