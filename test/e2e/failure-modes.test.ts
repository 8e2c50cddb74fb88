/** What users see while Redis or the gateway fails is what docs/failure-modes.md says, cell by cell. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { tableOf } from '../support/document-tables.ts';
import { type GatewayLab, startGatewayLab } from '../support/failure-gateway.ts';
import { newClient } from '../support/failure-policies.ts';
import { type Choice, PROXIES, proxyOf, startFailureProxy } from '../support/failure-proxies.ts';
import { type RedisLab, startRedisLab } from '../support/failure-redis.ts';
import { type Experience, experience, isInTime, LIMIT } from '../support/failure-user.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { ownRedisIsHere } from '../support/redis.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const DOCUMENT = 'failure-modes.md';
const HAPPENINGS = tableOf(DOCUMENT, ['what happens', 'requests', 'the answer comes']);
const ANSWERS = tableOf(DOCUMENT, [
  'request',
  'status',
  'application',
  'X-RateLimit-Limit and the like',
  'X-RateLimit-Mode',
  'Retry-After',
]);
const GATEWAY_ROWS = tableOf(DOCUMENT, [
  'the gateway',
  'proxy',
  'its file',
  'status',
  'application',
  'mark',
  'the answer comes',
]);

const programs = inject('programs');
const names = Object.keys(PROXIES).filter((name) => {
  const { program } = proxyOf(name);
  return program === undefined || programs[program] !== undefined;
});
/** Deadlines and time-outs are those of production, and a busy machine may once miss 50 ms. */
const testBehind = (name: string) => (title: string, check: () => Promise<void>) =>
  test.skipIf(!names.includes(name))(title, { retry: 2 }, check);

const CHOICES: readonly Choice[] = ['as shipped', 'refuses'];
const NO_WORD_OF_LIMITS = { numbers: 'no', mode: 'none', retryAfter: 'none' };

/** One of three shows that answers come at once: a busy machine is late with some. */
const ATTEMPTS = 3;

async function expectSaid(
  what: string,
  asking: () => Promise<{ seen: Experience; tookMs: number }>,
  expected: Experience,
  comes: string,
) {
  const attemptsMs: number[] = [];
  do {
    const { seen, tookMs } = await asking();
    expect(seen, what).toEqual(expected);
    attemptsMs.push(Math.round(tookMs));
    if (isInTime(comes, tookMs)) return;
  } while (comes === 'at once' && attemptsMs.length < ATTEMPTS);
  expect.fail(`${what}: the answer came not ${comes}, but after ${attemptsMs} ms`);
}

/** Five requests end it: one that uses up a limit, and four that are looked at. */
const BRIEF = 'Redis hangs, until five answers in a row came too late';

const isCounted = (request: string) => request.startsWith('counted');

/** Which rows of the answers are meant. */
const MEANT: Readonly<Record<string, (request: string) => boolean>> = {
  'are counted': isCounted,
  'follow on_store_failure': (request) => !isCounted(request),
  'follow on_store_failure; clients over a limit are counted': (request) =>
    request !== 'counted, within its limit',
};

function answersTo(requests: string) {
  const isMeant = MEANT[requests];
  if (isMeant === undefined) throw new Error(`what does "${requests}" mean?`);
  return ANSWERS.filter(({ request }) => isMeant(request));
}

/** Of `local, over the share of this gateway`: the path that the policy is for. */
function pathOf(request: string): string {
  return isCounted(request) ? '/local' : `/${request.split(',')[0]}`;
}

describe.skipIf(!ownRedisIsHere || names.length === 0)('the gateway answers', () => {
  const stack = new AsyncDisposableStack();
  const proxies = new Map<string, RunningProxy>();
  let upstream: Upstream;
  let lab: RedisLab;

  beforeAll(async () => {
    upstream = stack.use(await startUpstream());
    lab = stack.use(await startRedisLab());
    const { gatewayPort: headgate, grpcPort: grpc } = lab;
    const behind = { application: upstream.port, headgate, grpc };
    for (const name of names) {
      proxies.set(name, stack.use(await startFailureProxy(name, 'as shipped', behind)));
    }
  });
  afterAll(() => stack.disposeAsync());

  test('whatever is made to happen is in the document, and the other way round', () => {
    const said = HAPPENINGS.map((row) => row['what happens']);
    expect(said.sort()).toEqual(Object.keys(lab.happenings).sort());
  });

  for (const row of HAPPENINGS) {
    describe(row['what happens'], () => {
      let spent: string;
      let spentSince: string;
      const isBrief = row['what happens'] === BRIEF;
      (isBrief ? beforeEach : beforeAll)(async () => {
        spent = await lab.clientAfter(LIMIT);
        spentSince = await lab.clientAfter(LIMIT - 1);
        await lab.happenings[row['what happens']]?.begin();
        await lab.take(spentSince);
      });
      (isBrief ? afterEach : afterAll)(() => lab.happenings[row['what happens']]?.end());

      for (const name of Object.keys(PROXIES)) {
        testBehind(name)(`behind ${name}`, async () => {
          const url = proxies.get(name)?.url ?? '';
          for (const answer of answersTo(row.requests)) {
            const { request } = answer;
            const clientOf = () => {
              if (!request.includes('over')) return newClient();
              return isCounted(request) ? spent : spentSince;
            };
            const asking = () => experience(url, upstream, pathOf(request), clientOf());
            const expected = {
              status: answer.status,
              application: answer.application,
              numbers: answer['X-RateLimit-Limit and the like'],
              mode: answer['X-RateLimit-Mode'],
              retryAfter: answer['Retry-After'],
              mark: 'none',
            };
            const hidden = proxyOf(name).hidesAllowed && answer.status === '200';
            const visible = hidden ? { ...expected, numbers: 'no', mode: 'none' } : expected;
            await expectSaid(request, asking, visible, row['the answer comes']);
          }
        });
      }
    });
  }
});

/** Those with the same answers share a row. */
function failuresOf(row: (typeof GATEWAY_ROWS)[number]): string[] {
  return row['the gateway'].split('; ');
}

describe.skipIf(names.length === 0)('the gateway does not answer', () => {
  const stack = new AsyncDisposableStack();
  const proxies = new Map<string, RunningProxy>();
  const proxyWith = (name: string, file: string) => proxies.get(`${name} ${file}`);
  let upstream: Upstream;
  let lab: GatewayLab;

  beforeAll(async () => {
    upstream = stack.use(await startUpstream());
    lab = stack.use(await startGatewayLab());
    const ports = { application: upstream.port, headgate: lab.port, grpc: lab.grpcPort };
    const behind = { ...ports, hasShippedTimeouts: true };
    for (const name of names) {
      for (const choice of CHOICES) {
        const proxy = stack.use(await startFailureProxy(name, choice, behind));
        proxies.set(`${name} ${choice}`, proxy);
      }
    }
  });
  afterAll(() => stack.disposeAsync());

  test('whatever is made to happen is in the document, behind every proxy with either file', () => {
    const said = GATEWAY_ROWS.flatMap((row) =>
      failuresOf(row).map((failure) => `${failure}: ${row.proxy} ${row['its file']}`),
    );
    const made = Object.keys(lab.arm).flatMap((failure) =>
      Object.keys(PROXIES).flatMap((name) => CHOICES.map((file) => `${failure}: ${name} ${file}`)),
    );
    expect(said.sort()).toEqual(made.sort());
  });

  for (const failure of new Set(GATEWAY_ROWS.flatMap(failuresOf))) {
    describe(failure, () => {
      beforeAll(() => lab.revive());

      for (const row of GATEWAY_ROWS.filter((row) => failuresOf(row).includes(failure))) {
        testBehind(row.proxy)(`${row.proxy}, ${row['its file']}`, async () => {
          const asking = async () => {
            await lab.arm[failure]?.();
            const url = proxyWith(row.proxy, row['its file'])?.url ?? '';
            return experience(url, upstream, '/deny', newClient());
          };
          const { status, application, mark } = row;
          const expected = { status, application, mark, ...NO_WORD_OF_LIMITS };
          await expectSaid(failure, asking, expected, row['the answer comes']);
        });
      }
    });
  }
});

/** Checked without a proxy, since every row is checked behind one. */
describe('the document', () => {
  test('no failure gives the user of a shipped file a 5xx', () => {
    const shipped = GATEWAY_ROWS.filter((row) => row['its file'] === 'as shipped');
    const statuses = [...ANSWERS, ...shipped].map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set(['200', '429']));
  });

  test('the time-outs are those of the files', () => {
    for (const row of GATEWAY_ROWS.filter((row) => row['the gateway'] === 'hangs')) {
      expect(row['the answer comes']).toBe(`after ${proxyOf(row.proxy).timeoutMs} ms`);
    }
  });

  test('what to change in the files is what is changed here', () => {
    const said = tableOf(DOCUMENT, ['proxy', 'to refuse, in its file']);
    expect(said.map(({ proxy }) => proxy)).toEqual(Object.keys(PROXIES));
    for (const row of said) {
      for (const shipped of Object.keys(proxyOf(row.proxy).toRefuse)) {
        // A block is called by how it begins.
        const [beginning] = shipped.trim().split(/ \{|\n/);
        expect(row['to refuse, in its file']).toContain(beginning);
      }
    }
  });
});
