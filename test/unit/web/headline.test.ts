/** The first line of the page, which says in words how things are. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { Overview } from '../../../src/operations/schemas/overview.ts';

const PAGE = fileURLToPath(new URL('../../../web/ui/', import.meta.url));
const { headline } = await import(/* @vite-ignore */ join(PAGE, 'headline.js'));

const STEPS = 180;
const TODAY = new Date().toISOString().slice(0, 10);
const AT = `${TODAY}T00:00:00.000Z`;

const series = (requests: number, denials = 0) => ({
  requests: Array<number>(STEPS).fill(requests),
  denials: Array<number>(STEPS).fill(denials),
  would_deny: Array<number>(STEPS).fill(0),
});

function policy(name: string, requests: number, denials = 0): Overview['policies'][number] {
  const modes = { mode: 'enforce', mode_of_file: 'enforce' } as const;
  return { name, ...modes, limits: [], on_store_failure: 'allow', ...series(requests, denials) };
}

const WELL: Overview = {
  time: AT,
  gateways: { asked: 2, answered: 2, workers: 0 },
  step_ms: 5_000,
  until: AT,
  policies: [policy('login', 20, 1), policy('search', 6_000, 185)],
  without_policy: series(0),
  store: { kind: 'redis', states: [{ state: 'enforced', gateways: 2 }] },
  policy_file: { digests: [{ digest: '0123456789ab', gateways: 2, since: AT }] },
  actions: [],
};

const linesOf = (changes: Partial<Overview>): string[] =>
  headline({ ...WELL, ...changes }).map(({ text }: { text: string }) => text);

const TRAFFIC = '1,204 requests/s, 3.1 % denied';

test('all is well', () => {
  expect(linesOf({})).toEqual([`All is well: ${TRAFFIC}`]);
  expect(linesOf({ policies: [] })).toEqual(['All is well: no requests in the last minute']);
});

test.each([
  [
    'refused: connect ECONNREFUSED 127.0.0.1:6379',
    'Redis does not answer since 00:00 UTC (1 of 2 gateways): limits are counted locally; requests pass without limits',
  ],
  [
    'oom',
    'Redis does not count (oom) since 00:00 UTC (1 of 2 gateways): limits are counted locally; requests pass without limits',
  ],
])('Redis fails: %s', (reason, text) => {
  const failing = { gateways: 1, since: AT, reason };
  const states = [
    { state: 'enforced' as const, gateways: 1 },
    { state: 'local' as const, ...failing },
    { state: 'open' as const, ...failing },
  ];
  expect(linesOf({ store: { kind: 'redis', states } })).toEqual([text, TRAFFIC]);
});

test('a proxy that is not trusted', () => {
  expect(linesOf({ untrusted_proxy: { gateways: 1, last: AT } })).toEqual([
    'A proxy outside identity.trusted_proxies asks: all of its clients share the limits of its address. Add the network that it connects from',
    TRAFFIC,
  ]);
});

test('a caller without the secret', () => {
  expect(linesOf({ refused_caller: { gateways: 1, last: AT } })).toEqual([
    'Calls without the right secret get 403, the last at 00:00 UTC. If your proxy sent them, so do all of its clients: compare HEADGATE_PROXY_SECRET with its X-Headgate-Secret',
    TRAFFIC,
  ]);
});

test('the worst comes first', () => {
  const lines = linesOf({
    gateways: { asked: 3, answered: 2, workers: 0 },
    store: { kind: 'redis', states: [{ state: 'closed', gateways: 2 }] },
    policy_file: {
      digests: [...WELL.policy_file.digests, ...WELL.policy_file.digests],
      refused: { at: AT, mistakes: ['no'] },
    },
    policies: [{ ...policy('login', 20, 10), mode: 'off' }],
  });
  expect(lines).toEqual([
    'Redis does not answer (2 of 2 gateways): requests are denied',
    '1 gateway of 3 did not answer: the numbers lack theirs',
    'The policy file was refused at 00:00 UTC: the one before stays in force',
    'Gateways have 2 different policy files',
    '50.0 % of 4.0 requests/s are denied, most by login',
    'login: off by an operator, enforce in the policy file',
  ]);
});

test('the page has less than 100 KB', () => {
  const bytes = readdirSync(PAGE).reduce((sum, name) => sum + statSync(join(PAGE, name)).size, 0);
  expect(bytes).toBeLessThan(100_000);
});
