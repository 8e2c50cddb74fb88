/** What clients see while Redis or the gateway fails is what docs/failure-modes.md says, cell by cell. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { tableOf } from '../support/document-tables.ts';
import { freePort } from '../support/ports.ts';
import { isHere } from '../support/proxy-starts.ts';
import { ownRedisIsHere } from '../support/redis.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { type GatewayLab, startGatewayLab } from './support/failure-gateway.ts';
import { newClient } from './support/failure-policies.ts';
import { type Choice, PROXIES, proxyOf, startFailureProxy } from './support/failure-proxies.ts';
import { type RedisLab, startRedisLab } from './support/failure-redis.ts';
import { type Experience, experience, isInTime, LIMIT } from './support/failure-user.ts';

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
const NAMES = Object.keys(PROXIES).filter((name) => isHere(proxyOf(name), programs));
const CHOICES: readonly Choice[] = ['as shipped', 'refuses'];
/** The proxies that wait ten seconds for the gateway, and those that wait as long as their files say. */
const PATIENT = 'patient';
const HASTY = 'hasty';

const stack = new AsyncDisposableStack();
/** All proxies use one gateway, which each test replaces. */
let ports: { readonly port: number; readonly grpcPort: number };
let upstream: Upstream;
const urls = new Map<string, string>();

beforeAll(async () => {
  ports = { port: await freePort(), grpcPort: await freePort() };
  upstream = stack.use(await startUpstream());
  for (const name of NAMES) await Promise.all(CHOICES.map((choice) => startProxies(name, choice)));
});
afterAll(() => stack.disposeAsync());

async function startProxies(name: string, choice: Choice): Promise<void> {
  const { port: headgate, grpcPort: grpc } = ports;
  const behind = { application: upstream.port, headgate, grpc };
  for (const patience of [PATIENT, HASTY]) {
    const hasShippedTimeouts = patience === HASTY;
    const proxy = await startFailureProxy(name, choice, { ...behind, hasShippedTimeouts });
    stack.use(proxy);
    urls.set(`${name} ${choice} ${patience}`, proxy.url);
  }
}

function urlOf(name: string, choice: string, patience: string): string {
  return urls.get(`${name} ${choice} ${patience}`) ?? '';
}

interface Attempt {
  readonly seen: Experience;
  readonly tookMs: number;
}

function expectSaid({ seen, tookMs }: Attempt, expected: Experience, comes: string): void {
  expect(seen).toEqual(expected);
  expect({ tookMs, comes }).toSatisfy(() => isInTime(comes, tookMs));
}

/** Five late answers end it, so it begins again for every request. */
const BRIEF = 'Redis hangs, until five answers in a row came too late';

const hangs = (happening: string) => happening.startsWith('Redis hangs');

const isCounted = (request: string) => request.startsWith('counted');

/** Which rows of the answers apply. */
const APPLYING: Readonly<Record<string, (request: string) => boolean>> = {
  'are counted': isCounted,
  'follow on_store_failure': (request) => !isCounted(request),
  'follow on_store_failure; clients over a limit are counted': (request) =>
    request !== 'counted, within its limit',
};

function answersTo(requests: string) {
  const applies = APPLYING[requests];
  if (applies === undefined) throw new Error(`the tests do not know requests that "${requests}"`);
  return ANSWERS.filter(({ request }) => applies(request));
}

/** Of `local, over the share of this gateway`: the path of the policy. */
function pathOf(request: string): string {
  return isCounted(request) ? '/local' : `/${request.split(',')[0]}`;
}

function expectedBehind(name: string, answer: (typeof ANSWERS)[number]): Experience {
  const expected = {
    status: answer.status,
    application: answer.application,
    numbers: answer['X-RateLimit-Limit and the like'],
    mode: answer['X-RateLimit-Mode'],
    retryAfter: answer['Retry-After'],
    mark: 'none',
  };
  const isHidden = proxyOf(name).hidesAllowed && answer.status === '200';
  return isHidden ? { ...expected, numbers: 'no', mode: 'none' } : expected;
}

/** Those in which Redis hangs come last, with a gateway that has the default timeout for Redis. */
const IN_ORDER = [
  ...HAPPENINGS.filter((row) => !hangs(row['what happens'])),
  ...HAPPENINGS.filter((row) => hangs(row['what happens'])),
];
const FIRST_HANG = IN_ORDER.find((row) => hangs(row['what happens']));

describe.skipIf(!ownRedisIsHere || NAMES.length === 0)('the gateway answers', () => {
  let lab: RedisLab;
  beforeAll(async () => {
    lab = await startRedisLab(ports);
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  test('the document lists all failures of the tests', () => {
    const said = HAPPENINGS.map((row) => row['what happens']);
    expect(said.sort()).toEqual(Object.keys(lab.happenings).sort());
  });

  for (const row of IN_ORDER) {
    describe(row['what happens'], () => {
      const isBrief = row['what happens'] === BRIEF;
      let clients: Clients;
      const begin = async () => {
        clients = await makeHappen(lab, row['what happens']);
      };
      const end = () => lab.happenings[row['what happens']]?.end();
      beforeAll(async () => {
        if (row === FIRST_HANG) await lab.useDefaultTimeout();
        if (!isBrief) await begin();
      });
      afterAll(async () => {
        if (!isBrief) await end();
      });

      test.each(NAMES)('behind %s', async (name) => {
        const url = urlOf(name, 'as shipped', PATIENT);
        for (const answer of answersTo(row.requests)) {
          const { request } = answer;
          const attempt = await undisturbed(lab, async () => {
            if (isBrief) await begin();
            const seen = await experience(
              url,
              upstream,
              pathOf(request),
              clientOf(request, clients),
            );
            if (isBrief) await end();
            return seen;
          });
          expectSaid(attempt, expectedBehind(name, answer), row['the answer comes']);
        }
      });
    });
  }
});

/** The keys of clients that have used up their limit. */
interface Clients {
  readonly spentBefore: string;
  readonly spentSince: string;
}

async function makeHappen(lab: RedisLab, happening: string): Promise<Clients> {
  const spentBefore = await lab.clientAfter(LIMIT);
  const spentSince = await lab.clientAfter(LIMIT - 1);
  await lab.happenings[happening]?.begin();
  await lab.take(spentSince);
  return { spentBefore, spentSince };
}

function clientOf(request: string, { spentBefore, spentSince }: Clients): string {
  if (!request.includes('over')) return newClient();
  return isCounted(request) ? spentBefore : spentSince;
}

/** On a busy machine the gateway sheds load. Then the attempt says nothing about Redis, and another one is made. */
async function undisturbed(lab: RedisLab, attempt: () => Promise<Attempt>): Promise<Attempt> {
  while (true) {
    const before = await lab.shed();
    const result = await attempt();
    if ((await lab.shed()) === before) return result;
  }
}

/** Failures with the same answers share a row. */
function failuresOf(row: (typeof GATEWAY_ROWS)[number]): string[] {
  return row['the gateway'].split('; ');
}

const NO_LIMITS = { numbers: 'no', mode: 'none' };

describe.skipIf(NAMES.length === 0)('the gateway does not answer', () => {
  let lab: GatewayLab;
  beforeAll(async () => {
    lab = await startGatewayLab(ports);
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  test('the document lists all failures of the tests, behind every proxy with either file', () => {
    const said = GATEWAY_ROWS.flatMap((row) =>
      failuresOf(row).map((failure) => `${failure}: ${row.proxy} ${row['its file']}`),
    );
    const made = Object.keys(lab.failures).flatMap((failure) =>
      Object.keys(PROXIES).flatMap((name) => CHOICES.map((file) => `${failure}: ${name} ${file}`)),
    );
    expect(said.sort()).toEqual(made.sort());
  });

  for (const failure of new Set(GATEWAY_ROWS.flatMap(failuresOf))) {
    describe(failure, () => {
      const rows = GATEWAY_ROWS.filter(
        (row) => NAMES.includes(row.proxy) && failuresOf(row).includes(failure),
      );
      const attempts = new Map<string, Attempt>();
      const keyOf = (row: (typeof rows)[number]) => `${row.proxy}, ${row['its file']}`;

      /** One request through every proxy, all at once. */
      beforeAll(async () => {
        await lab.failures[failure]?.(rows.length);
        const patience = failure === 'hangs' ? HASTY : PATIENT;
        const send = async (row: (typeof rows)[number]) => {
          const url = urlOf(row.proxy, row['its file'], patience);
          attempts.set(keyOf(row), await experience(url, upstream, '/deny', newClient()));
        };
        await Promise.all(rows.map(send));
      });

      test.each(rows.map((row) => [keyOf(row), row] as const))('%s', (key, row) => {
        const attempt = attempts.get(key);
        if (attempt === undefined) throw new Error(`no request was sent through ${key}`);
        const { status, application, mark } = row;
        const refusal = row.proxy === 'Caddy' && row['its file'] === 'refuses';
        const retryAfter = refusal ? '1' : 'none';
        const expected = { status, application, mark, ...NO_LIMITS, retryAfter };
        expectSaid(attempt, expected, row['the answer comes']);
      });
    });
  }
});

/** APISIX passes a 500 of headgate to the client. headgate answers so only because of a fault in itself. */
const isFaultBehindApisix = (row: (typeof GATEWAY_ROWS)[number]) =>
  row.proxy === 'APISIX' && row['the gateway'] === 'answers 500 because of a fault';

/** These need no proxy: the tests above check every row behind one. */
describe('the document', () => {
  test('has no 5xx for the shipped files, but for a fault behind APISIX', () => {
    const shipped = GATEWAY_ROWS.filter((row) => row['its file'] === 'as shipped').filter(
      (row) => !isFaultBehindApisix(row),
    );
    const statuses = [...ANSWERS, ...shipped].map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set(['200', '429']));
  });

  test('has the timeouts of the files', () => {
    for (const row of GATEWAY_ROWS.filter((row) => row['the gateway'] === 'hangs')) {
      expect(row['the answer comes']).toBe(`after ${proxyOf(row.proxy).timeoutMs} ms`);
    }
  });

  test('has the changes that the tests make to refuse requests', () => {
    const said = tableOf(DOCUMENT, ['proxy', 'to refuse, in its file']);
    expect(said.map(({ proxy }) => proxy)).toEqual(Object.keys(PROXIES));
    for (const row of said) {
      for (const shipped of Object.keys(proxyOf(row.proxy).toRefuse)) {
        // The document names a block by its first line.
        const [beginning] = shipped.trim().split(/ \{|\n/);
        expect(row['to refuse, in its file']).toContain(beginning);
      }
    }
  });
});
