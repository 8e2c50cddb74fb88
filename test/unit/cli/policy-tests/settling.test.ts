/** Steps that settle: what later steps count, and mistakes. */
import { describe, expect, test } from 'vitest';
import { failuresOf, mistakesIn, testFile } from '../../../support/policy-tests.ts';

const POLICIES = `version: 1
identity: { sources: [api_key, ip], verified_headers: [x-reserve] }
default: { limits: [1000/1h] }
policies:
  - name: login
    match: { method: POST, path: /login }
    limits: [{ rate: 5/5min, refund: { header: { x-login: ok }, location: /account } }, 100/1h]
  - name: chat
    match: { path: /chat }
    on_store_failure: local
    limits: [{ rate: 10000/1h, per: api_key, algorithm: fixed-window, unit: tokens, reserve: 500, unknown: 8000 }]
  - name: header
    match: { path: /header }
    limits: [{ rate: 10000/1h, per: api_key, algorithm: fixed-window, unit: tokens, reserve: { header: x-reserve }, unknown: 8000 }]
  - name: metadata
    match: { path: /metadata }
    limits: [{ rate: 10000/1h, per: api_key, algorithm: fixed-window, unit: tokens, reserve: { metadata: envoy.ai.request_info }, unknown: 8000 }]
  - name: trial
    match: { path: /trial }
    mode: shadow
    limits: [{ rate: 2/1h, algorithm: fixed-window, refund: { status: [204] } }, 100/1h]
`;
const OTHER = POLICIES.replace('name: chat', 'name: talk');
const HEAD = `clients:
  alice: { address: 203.0.113.9, headers: { x-api-key: k } }
`;
const FILES = { 'policies.yaml': POLICIES, 'other.yaml': OTHER };
const failures = (steps: readonly string[]) => failuresOf(steps, HEAD, FILES);
const mistakes = (step: string) => mistakesIn({ ...FILES, 'a_test.yaml': testFile([step], HEAD) });

const LOGIN = 'client: alice, send: POST /login';
const CHAT = 'client: alice, send: POST /chat';
const NOTHING = 'none (denied, or no limit of the request has reserve or refund)';

describe('a step with send', () => {
  test('settles each of its requests at once, also those of one moment', async () => {
    const steps = [
      `{ ${LOGIN}, times: 50, expect: allow, settle: { headers: { X-Login: ok } } }`,
      `{ ${LOGIN}, times: 3, expect: allow, settle: { status: 302, headers: { location: "/login?again" } } }`,
      `{ ${LOGIN}, expect: allow, settle: { status: 302, headers: { location: /account } } }`,
      `{ ${LOGIN}, times: 2, expect: allow, settle: { status: 200 } }`,
      `{ ${LOGIN}, expect: { verdict: deny, policy: login } }`,
    ];
    expect(await failures(steps)).toEqual([]);
  });

  test('settles those that were allowed, and fails if one of them reserved nothing', async () => {
    const steps = [
      `{ ${CHAT}, times: 21, expect: {}, settle: { units: { tokens: 500 } } }`.replace(
        '{}',
        '{ policy: chat }',
      ),
      `{ client: alice, send: GET /, expect: allow, settle: { status: 200 } }`,
    ];
    expect(await failures(steps)).toEqual([
      `GET / by alice at 0s: settle: settled, not ${NOTHING}`,
    ]);
  });

  test('reserves what a header or the metadata of Envoy says', async () => {
    const remaining = (send: string, more: string, units: number) =>
      `{ client: alice, send: GET /${send}, ${more}, expect: { remaining: ${units} } }`;
    expect(
      await failures([
        remaining('header', 'headers: { x-reserve: "700" }', 9_300),
        remaining('header', 'headers: { x-reserve: "much" }', 1_300),
        remaining('metadata', 'metadata: { envoy.ai.request_info: 900 }', 9_100),
        remaining('metadata', 'host: a.example.com', 1_100),
      ]),
    ).toEqual([]);
  });
});

describe('a step without send', () => {
  test('settles the requests of an earlier one, once', async () => {
    const steps = [
      `{ ${CHAT}, times: 2, as: chats, expect: { remaining: 9500, not: { policy: login } } }`.replace(
        'remaining: 9500, not: { policy: login }',
        'policy: chat',
      ),
      '{ at: 30s, settle: { of: chats, units: { tokens: 812 } } }',
      `{ ${CHAT}, as: cut, expect: { remaining: 7876 } }`,
      '{ settle: { of: chats, result: repeated } }',
      '{ settle: { of: cut } }',
      `{ ${CHAT}, expect: deny }`,
    ];
    expect(await failures(steps)).toEqual([]);
  });

  test('fails if the outcome comes too late, or nothing was reserved', async () => {
    const steps = [
      `{ ${CHAT}, as: late, expect: allow }`,
      `{ client: alice, send: GET /, as: page, expect: allow }`,
      '{ at: 14min59s, settle: { of: page } }',
      '{ at: 15min, settle: { of: late, units: { tokens: 1 } } }',
    ];
    expect(await failures(steps)).toEqual([
      `settle of page at 14min59s: settle: settled, not ${NOTHING}`,
      'settle of late at 15min: settle: settled, not ended',
    ]);
  });

  test('corrects limits of the file in force, and none that it no longer has', async () => {
    const steps = [
      `{ ${CHAT}, as: chats, expect: allow }`,
      '{ reload: other.yaml }',
      '{ settle: { of: chats, units: { tokens: 1 }, result: unknown_limit } }',
      '{ reload: policies.yaml }',
      '{ settle: { of: chats, units: { tokens: 1 } } }',
      `{ ${CHAT}, expect: { remaining: 9499 } }`,
    ];
    expect(await failures(steps)).toEqual([]);
  });

  test('waits for a store that is down; what the gateway counted alone is corrected there', async () => {
    const steps = [
      `{ ${CHAT}, as: before, expect: { remaining: 9500 } }`,
      '{ store: down }',
      '{ settle: { of: before, units: { tokens: 9000 }, result: waiting } }',
      `{ ${CHAT}, as: alone, expect: { remaining: 500, headers: { x-ratelimit-mode: local } } }`,
      '{ settle: { of: alone, units: { tokens: 1000 } } }',
      `{ ${CHAT}, expect: deny }`,
      '{ store: up }',
      `{ ${CHAT}, expect: { remaining: 500, headers: { x-ratelimit-mode: null } } }`,
    ];
    expect(await failures(steps)).toEqual([]);
  });

  test('settles what policies in shadow mode reserved', async () => {
    const trial = 'client: alice, send: GET /trial, times: 2';
    const steps = [
      `{ ${trial}, expect: { would_deny: none }, settle: { status: 204 } }`,
      `{ ${trial}, expect: { would_deny: none }, settle: { status: 200 } }`,
      '{ client: alice, send: GET /trial, expect: { would_deny: trial } }',
    ];
    expect(await failures(steps)).toEqual([]);
  });
});

test('a failure prints the same in every run, although tokens differ', async () => {
  const step = `{ ${CHAT}, expect: { headers: { x-headgate-settle: null } } }`;
  const failed = ['POST /chat by alice at 0s: headers.x-headgate-settle: none, not a-settle-token'];
  expect(await failures([step])).toEqual(failed);
});

test.each([
  [
    '{ settle: { status: 200 } }',
    'settle: must have of, the name that an earlier step with send has from as, or be in a step with send',
  ],
  [
    '{ settle: { of: chat } }',
    'settle.of: is not the name of an earlier step, give it one with as',
  ],
  [
    `{ ${CHAT}, as: chats, expect: allow, settle: { of: chats } }`,
    'settle.of: is only for a step without send',
  ],
  [
    `{ ${CHAT}, expect: allow, settle: { units: { token: 1 } } }`,
    'settle.units.token: is not a unit of policies.yaml, did you mean "tokens"?',
  ],
  [
    `{ ${CHAT}, expect: allow, settle: { units: { tokens: -1 } } }`,
    'settle.units.tokens: must be at least 0',
  ],
  [
    `{ ${CHAT}, expect: allow, settle: { headers: { x-login: 1 } } }`,
    'settle.headers.x-login: must be text (a number needs quotes)',
  ],
  [
    `{ ${CHAT}, expect: allow, settle: { result: setled } }`,
    expect.stringContaining('settle.result: must be settled, repeated,'),
  ],
  ['{ store: down, as: a }', 'as: is only for a step with send'],
  ['{ store: down, settle: { of: a } }', ': has settle and store, make each of them a step'],
])('%s is a mistake', async (step, message) => {
  const found = (await mistakes(step)).map((each) => each.replace(/^.*steps\[0\]\.?/, ''));
  expect(found).toEqual([message]);
});

test('names of steps are unique, and those of other tests are unknown', async () => {
  const steps = [
    `{ ${CHAT}, as: chats, expect: allow }`,
    `{ ${CHAT}, as: chats, expect: allow }`,
    '{ settle: { of: chast } }',
  ];
  expect(await mistakesIn({ ...FILES, 'a_test.yaml': testFile(steps, HEAD) })).toEqual([
    expect.stringContaining('steps[1].as: is the name of an earlier step, choose another'),
    expect.stringContaining('is not the name of an earlier step, did you mean "chats"?'),
  ]);
});
