/** What steps do, and what is expected of them. */
import { hash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { failuresOf, POLICIES, runFiles, testFile } from '../../../support/policy-tests.ts';

const { now } = Date;
beforeEach(() => {
  Date.now = () => {
    throw new Error('a policy test must not read the clock');
  };
});
afterEach(() => {
  Date.now = now;
});

const LOGIN = 'client: alice, send: POST /login';
const PAY = 'client: alice, send: GET /pay';

describe('requests', () => {
  test('are decided by the policies, at their times', async () => {
    expect(
      await failuresOf([
        `{ ${LOGIN}, times: 2, every: 10s, expect: { verdict: allow, policy: login, reason: within_limits } }`,
        `{ ${LOGIN}, expect: { verdict: deny, reason: over_limit, remaining: 0, retry_after: 50s } }`,
        `{ client: bob, send: POST /login, expect: { verdict: allow, remaining: 1 } }`,
        `{ at: 59s999ms, ${LOGIN}, expect: deny }`,
        `{ at: 60s, ${LOGIN}, expect: allow }`,
        `{ ${LOGIN}, expect: { verdict: deny, retry_after: 10s } }`,
      ]),
    ).toEqual([]);
  });

  test('are compared with everything that is expected', async () => {
    const steps = [
      `{ ${LOGIN}, times: 2, expect: allow }`,
      `{ ${LOGIN}, expect: { verdict: allow, policy: pay, reason: exempt, would_deny: trial, remaining: 1, retry_after: 1s, status: 200 } }`,
      `{ ${LOGIN}, expect: { headers: { Retry-After: null, x-nothing: 1, x-ratelimit-limit: 2 }, body: { contains: money, json: { policy: pay, error: rate_limit_exceeded, nothing: [1] } } } }`,
    ];
    const step = 'POST /login by alice at 0s';
    expect(await failuresOf(steps)).toEqual([
      `${step}: verdict: allow, not deny`,
      `${step}: policy: pay, not login`,
      `${step}: reason: exempt, not over_limit`,
      `${step}: would_deny: trial, not none`,
      `${step}: remaining: 1, not 0`,
      `${step}: retry_after: 1s, not 1min`,
      `${step}: status: 200, not 429`,
      `${step}: headers.retry-after: none, not 60`,
      `${step}: headers.x-nothing: 1, not none`,
      expect.stringMatching(/body: contains "money", not \{"error":"rate_limit_exceeded",.*\}$/),
      `${step}: body.policy: "pay", not "login"`,
      `${step}: body.nothing: [1], not none`,
    ]);
  });

  test('may be compared with what must not be', async () => {
    const step = 'POST /login by alice at 0s';
    expect(
      await failuresOf([
        `{ ${LOGIN}, expect: { not: { verdict: deny, policy: pay, headers: { retry-after: 1 } } } }`,
        `{ ${LOGIN}, expect: { verdict: allow, not: { policy: login, remaining: 1, headers: { x-no: null } } } }`,
      ]),
    ).toEqual([
      `${step}: policy: not login, not login`,
      `${step}: headers.x-no: not none, not none`,
    ]);
  });

  test('that are repeated are each compared, and the first failure is reported', async () => {
    expect(await failuresOf([`{ at: 1s, ${LOGIN}, times: 5, every: 1s, expect: allow }`])).toEqual([
      'POST /login by alice at 3s, request 3 of 5: verdict: allow, not deny',
    ]);
  });

  test('have the headers and the host of client and step', async () => {
    const head = `clients:
  bob: { address: 198.51.100.7, host: a.example.com, headers: { X-User: bob } }
  carl: { address: 198.51.100.8 }
`;
    const admin = 'send: GET /admin';
    expect(
      await failuresOf(
        [
          `{ client: bob, ${admin}, expect: { policy: admin, verdict: allow } }`,
          `{ client: carl, host: a.example.com, headers: { x-user: bob }, ${admin}, expect: { policy: admin, verdict: deny } }`,
          `{ client: bob, headers: { x-user: null }, ${admin}, expect: { policy: admin, verdict: allow } }`,
          `{ client: bob, headers: { x-user: [a, b] }, send: GET /, expect: { reason: ambiguous_identity, status: 400 } }`,
          `{ client: bob, host: b.example.com, ${admin}, expect: { policy: default } }`,
          `{ client: carl, send: 'GET http://a.example.com:80/admin', expect: { policy: admin } }`,
          `{ client: carl, host: 'a b', ${admin}, expect: { reason: malformed_host, policy: none } }`,
          `{ client: carl, send: 'GET /a%00', expect: { reason: malformed_path } }`,
        ],
        head,
      ),
    ).toEqual([]);
  });

  test('come through the proxy that the file names', async () => {
    const head = `proxy: nginx
proxy_address: 10.0.0.1
clients: { alice: { address: 203.0.113.9 }, bob: { address: 203.0.113.10 } }
`;
    // The policy file does not trust the proxy, so all of its clients are one.
    const body = '{"error":"rate_limit_exceeded"';
    expect(
      await failuresOf(
        [
          `{ ${LOGIN}, times: 2, expect: allow }`,
          `{ client: bob, send: POST /login, expect: { verdict: deny, not: { headers: { x-headgate-body: null } }, body: { contains: '${body}' } } }`,
        ],
        head,
      ),
    ).toEqual([]);
  });

  test('may come from a network that sets the address', async () => {
    const policies = POLICIES.replace('[api_key, user, ip]', '[cf_connecting_ip, ip]').replace(
      ', user: { header: x-user }',
      '',
    );
    const head = `clients:
  near: { address: 173.245.48.5, headers: { cf-connecting-ip: 203.0.113.9 } }
  far: { address: 203.0.113.1, peer: 173.245.48.6, headers: { cf-connecting-ip: 203.0.113.9 } }
`;
    expect(
      await failuresOf(
        [
          `{ client: near, send: POST /login, times: 2, expect: allow }`,
          `{ client: far, send: POST /login, expect: deny }`,
        ],
        head,
        { 'policies.yaml': policies },
      ),
    ).toEqual([]);
  });
});

describe('windows', () => {
  test('reach over midnight, when addresses get new pseudonyms', async () => {
    const head = `start: 2026-03-31T23:59:30Z\nclients: { alice: { address: 203.0.113.9 } }\n`;
    expect(
      await failuresOf(
        [
          `{ ${LOGIN}, times: 2, every: 20s, expect: allow }`,
          `{ at: 31s, ${LOGIN}, expect: { verdict: deny, retry_after: 29s } }`,
          `{ at: 60s, ${LOGIN}, expect: allow }`,
        ],
        head,
      ),
    ).toEqual([]);
  });

  test('give a token bucket its burst once, although addresses get new pseudonyms', async () => {
    const head = `start: 2026-03-31T23:30:00Z\nclients: { alice: { address: 203.0.113.9 } }\n`;
    const GET = 'client: alice, send: GET /';
    expect(
      await failuresOf(
        [
          `{ ${GET}, times: 4, expect: allow }`,
          `{ ${GET}, expect: { verdict: deny, retry_after: 1h } }`,
          `{ at: 45min, ${GET}, expect: { verdict: deny, retry_after: 15min } }`,
          // The old pseudonym counts no longer than its debt.
          `{ at: 1h, ${GET}, times: 6, every: 1h, expect: allow }`,
          `{ at: 6h1min, ${GET}, expect: { verdict: deny, retry_after: 59min } }`,
        ],
        head,
        {
          'policies.yaml':
            'version: 1\ndefault: { limits: [{ rate: 1/1h, algorithm: token-bucket, burst: 4 }] }',
        },
      ),
    ).toEqual([]);
  });

  test('of 31 days count, for addresses too', async () => {
    expect(
      await failuresOf([
        `{ ${PAY}, times: 4, every: 10d, expect: { verdict: allow, policy: pay } }`,
        `{ at: 30d23h, ${PAY}, expect: { verdict: deny, retry_after: 1h } }`,
        `{ at: 31d, ${PAY}, expect: allow }`,
        `{ ${PAY}, expect: { verdict: deny, retry_after: 10d } }`,
      ]),
    ).toEqual([]);
  });
});

describe('windows by the calendar', () => {
  const within = (limit: string, start: string, steps: string[]) =>
    failuresOf(steps, `start: ${start}\nclients: { alice: { address: 203.0.113.9 } }\n`, {
      'policies.yaml': `version: 1\ndefault: { limits: [${limit}] }`,
    });
  const GET = 'client: alice, send: GET /';

  test.each([
    ['goes forward', '2026-03-28T23:00:00Z', 22],
    ['goes back', '2026-10-24T22:00:00Z', 24],
    ['stands still', '2026-07-01T22:00:00Z', 23],
  ])('end with the day in their zone where the clock %s', async (_, midnight, hours) => {
    expect(
      await within('{ rate: 2/day, zone: Europe/Zurich }', midnight, [
        `{ ${GET}, times: 2, every: 1h, expect: allow }`,
        `{ at: ${hours}h59min59s, ${GET}, expect: { verdict: deny, retry_after: 1s } }`,
        `{ at: ${hours + 1}h, ${GET}, expect: { verdict: allow, remaining: 1 } }`,
      ]),
    ).toEqual([]);
  });

  test('end with the month, also in a leap year and over the end of a year', async () => {
    const steps = [
      `{ ${GET}, times: 1000, expect: allow }`,
      `{ at: 1h, ${GET}, expect: { verdict: deny, retry_after: 30d23h } }`,
      // December, January, then the 29 days of February.
      `{ at: 31d, ${GET}, times: 1000, expect: allow }`,
      `{ at: 62d, ${GET}, times: 1000, expect: allow }`,
      `{ at: 90d, ${GET}, expect: { verdict: deny, retry_after: 1d } }`,
      `{ at: 91d, ${GET}, expect: allow }`,
    ];
    expect(await within('1000/month', '2027-12-01T00:00:00Z', steps)).toEqual([]);
  });

  test('say in the answer what they allow, and when they end', async () => {
    const headers = '{ x-ratelimit-limit: 1, retry-after: 3600 }';
    const policy = '\'"default";q=1;w=604800\'';
    expect(
      await within('{ rate: 1/week, zone: Asia/Kolkata }', '2026-11-22T17:30:00Z', [
        `{ ${GET}, expect: { verdict: allow, headers: { ratelimit-policy: ${policy} } } }`,
        `{ ${GET}, expect: { verdict: deny, headers: ${headers} } }`,
        `{ at: 1h, ${GET}, expect: { verdict: allow, remaining: 0 } }`,
      ]),
    ).toEqual([]);
  });
});

describe('a listed key', () => {
  const head = `api_keys: [one, { id: two, plan: pro }]
clients:
  acme: { address: 203.0.113.9, api_key: acme }
  one: { address: 203.0.113.9, api_key: one }
  two: { address: 203.0.113.9, api_key: two }
  made-up: { address: 203.0.113.9, headers: { authorization: Bearer x } }
`;
  const key = hash('sha256', 'only its owner knows it', 'hex');
  const policies = POLICIES.replace(
    'sources: [api_key, user, ip]',
    `sources: [api_key, user, ip], api_key: { header: authorization, keys: [{ id: acme, plan: pro, sha256: ${key} }] }`,
  );

  test('counts for itself, with its plan, in the policy file or in the test file', async () => {
    expect(
      await failuresOf(
        [
          '{ client: acme, send: GET /, expect: { remaining: 1999 } }',
          '{ client: one, send: GET /, expect: { remaining: 999 } }',
          '{ client: two, send: GET /, expect: { remaining: 1999 } }',
          '{ client: made-up, send: GET /, expect: { remaining: 999, headers: { ratelimit-policy: \'"default";q=1000;w=3600, "default:unverified";q=2000;w=3600\' } } }',
        ],
        head,
        { 'policies.yaml': policies },
      ),
    ).toEqual([]);
  });
});

describe('a store that is down', () => {
  test('makes policies do what on_store_failure says', async () => {
    expect(
      await failuresOf([
        `{ ${PAY}, times: 3, expect: allow }`,
        '{ store: down }',
        `{ ${PAY}, expect: { verdict: allow, headers: { x-ratelimit-mode: local } } }`,
        `{ ${PAY}, expect: { verdict: deny, policy: pay, reason: over_limit } }`,
        `{ ${LOGIN}, times: 9, expect: { verdict: allow, reason: store_failure } }`,
        `{ client: alice, send: GET /admin, host: a.example.com, expect: { verdict: deny, reason: store_failure, retry_after: 1s } }`,
        '{ store: up }',
        `{ ${LOGIN}, times: 2, expect: { verdict: allow, reason: within_limits } }`,
        `{ ${PAY}, expect: { verdict: allow, reason: within_limits, remaining: 0 } }`,
      ]),
    ).toEqual([]);
  });

  test('leaves each gateway its share', async () => {
    const head = 'gateways: 2\nclients: { alice: { address: 203.0.113.9 } }\n';
    expect(
      await failuresOf(
        ['{ store: down }', `{ ${PAY}, times: 2, expect: allow }`, `{ ${PAY}, expect: deny }`],
        head,
      ),
    ).toEqual([]);
  });
});

test('a reload replaces the policies and keeps the counts', async () => {
  const stricter = POLICIES.replace('2/1min', '3/1min').replace('name: admin', 'name: boss');
  expect(
    await failuresOf(
      [
        `{ ${LOGIN}, times: 2, expect: allow }`,
        `{ ${LOGIN}, expect: deny }`,
        '{ reload: other.yaml }',
        `{ ${LOGIN}, expect: { verdict: allow, remaining: 0 } }`,
        `{ ${LOGIN}, expect: deny }`,
        `{ client: bob, send: GET /admin, host: a.example.com, expect: { policy: boss } }`,
      ],
      undefined,
      { 'other.yaml': stricter },
    ),
  ).toEqual([]);
});

describe('overrides', () => {
  test('block and exempt clients, until they end', async () => {
    expect(
      await failuresOf([
        '{ override: { block: alice, for: 10min } }',
        `{ ${LOGIN}, expect: { verdict: deny, reason: blocked, status: 403 } }`,
        `{ at: 9min59s999ms, ${LOGIN}, expect: { reason: blocked } }`,
        `{ at: 10min, ${LOGIN}, expect: allow }`,
        '{ override: { exempt: bob, for: 31d } }',
        '{ at: 20d, client: bob, send: POST /login, times: 5, expect: { reason: exempt } }',
        '{ override: { unexempt: bob } }',
        '{ client: bob, send: POST /login, expect: { reason: within_limits } }',
        "{ override: { block: 'user:bob', for: 1h } }",
        '{ client: bob, send: POST /login, expect: { reason: blocked } }',
        '{ override: { unblock: bob } }',
        '{ client: bob, send: POST /login, expect: { reason: within_limits } }',
        '{ override: { block: 203.0.113.9, for: 30d } }',
        `{ at: 49d, ${LOGIN}, expect: { reason: blocked } }`,
        `{ at: 50d, ${LOGIN}, expect: allow }`,
      ]),
    ).toEqual([]);
  });

  test('change the mode of a policy', async () => {
    expect(
      await failuresOf([
        '{ override: { mode: { policy: login, mode: shadow }, for: 1h } }',
        `{ ${LOGIN}, times: 2, expect: { verdict: allow, would_deny: none } }`,
        `{ ${LOGIN}, expect: { verdict: allow, would_deny: login, reason: not_enforced } }`,
        '{ override: { restore: login } }',
        `{ ${LOGIN}, expect: deny }`,
        '{ override: { mode: { policy: login, mode: off }, for: 1h } }',
        `{ ${LOGIN}, expect: { verdict: allow, would_deny: none } }`,
        '{ override: { mode: { policy: trial, mode: enforce }, for: 1h } }',
        '{ client: alice, send: GET /trial, expect: allow }',
        '{ client: alice, send: GET /trial, expect: deny }',
        '{ at: 1h, client: bob, send: GET /trial, expect: { would_deny: none } }',
        '{ at: 1h, client: bob, send: GET /trial, expect: { verdict: allow, would_deny: trial } }',
      ]),
    ).toEqual([]);
  });

  test('that a gateway refuses are failures', async () => {
    expect(
      await failuresOf([
        '{ at: 5s, override: { unblock: alice } }',
        '{ override: { restore: pay } }',
      ]),
    ).toEqual([
      'override at 5s: no operator blocked this client; if it is over a limit, reset its counters (headgate clients reset)',
      'override at 5s: there is no override for the policy "pay"',
    ]);
  });
});

test('each test begins with a new gateway', async () => {
  const steps = testFile([`{ ${LOGIN}, times: 2, expect: allow }`]);
  const text = `${steps}${steps.slice(steps.indexOf('  - name')).replace('a test', 'another')}`;
  const { files } = await runFiles({ 'policies.yaml': POLICIES, 'a_test.yaml': text });
  expect(files[0]?.tests.map(({ result }) => result)).toEqual(['passed', 'passed']);
});

test('a skipped test is not run', async () => {
  const text = testFile([`{ ${LOGIN}, expect: deny }`]).replace(
    'a test',
    'a test\n    skip: later',
  );
  const { files } = await runFiles({ 'policies.yaml': POLICIES, 'a_test.yaml': text });
  expect(files[0]?.tests).toMatchObject([{ result: 'skipped', skip: 'later', requests: 0 }]);
});

test('a failure has the place of its step, and how the request was decided, the same each time', async () => {
  const files = {
    'policies.yaml': POLICIES,
    'a_test.yaml': testFile([`{ ${LOGIN}, times: 9, expect: allow }`]),
  };
  const [first, second] = [await runFiles(files), await runFiles(files)];
  const failure = first.files[0]?.tests[0]?.failures[0];
  expect(failure).toMatchObject({ place: { line: 8, column: 9 }, answer: { status: 429 } });
  expect(failure?.trace.map(({ what }) => what)).toEqual(
    expect.arrayContaining([
      'client address: 203.0.113.9',
      'login applies: it is the most specific match',
      expect.stringMatching(/^login: 2 requests per minute, per client; counted as hg:v1:\{i\./),
      'login: 0 of 2 remain; next request allowed in 60 s',
    ]),
  );
  expect(second.files[0]?.tests).toEqual(first.files[0]?.tests);
});
