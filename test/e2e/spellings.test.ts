/**
 * Thousands of spellings of one path, through real proxies. Applications take many of them for that path: every request
 * that an application serves as a login was counted as a login.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { servesPath } from '../support/lenient-servers.ts';
import { freePort } from '../support/ports.ts';
import { accepting, startProcess } from '../support/process.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { isHere, proxyStart } from '../support/proxy-starts.ts';
import { answerTo } from '../support/raw-http.ts';
import { spellingsOf } from '../support/spellings.ts';
import { temporaryFile, temporaryFolder } from '../support/temporary.ts';
import { startUpstream } from '../support/upstream.ts';

const LOGIN = '/api/auth/login';
const SPELLINGS = spellingsOf(LOGIN);

/** The limits are too large to deny a request: the test reads which of them counted it. */
const POLICIES = `
version: 1
default: { limits: [1000000/1h] }
policies:
  - { name: login, match: { method: POST, path: ${LOGIN} }, limits: [1000000/1h] }
  - { name: strictest, match: { path: /admin }, limits: [1000000/1d] }
  - { name: api, match: { method: [GET, POST], path: "/api/*" }, limits: [1000000/1min] }
  - { name: everything, match: { method: [GET, POST], path: "/*" }, limits: [1000000/1s] }
`;

const CONNECTIONS = 16;

interface Judgement {
  readonly spelling: string;
  readonly reached: boolean;
  /** The applications that serve it as a login. */
  readonly servedBy: readonly string[];
  /** Of the RateLimit-Policy header: the limits that counted the request. */
  readonly charged: string;
}

const programs = inject('programs');
const stack = new AsyncDisposableStack();
let gateway: Gateway;
let nginxServes: ((target: string) => Promise<boolean>) | undefined;

beforeAll(async () => {
  const policyFile = temporaryFile(stack, POLICIES);
  gateway = stack.use(await startGateway({ HEADGATE_POLICIES: policyFile }));
  if (programs.nginx !== undefined) nginxServes = await startNginxApplication(programs.nginx);
});
afterAll(() => stack.disposeAsync());

describe.each(['nginx', 'envoy', 'caddy', 'haproxy'].map(proxyStart))('$name', (row) => {
  test.skipIf(!isHere(row, programs))(
    'every request that an application serves as a login was counted as one',
    async () => {
      await using upstream = await startUpstream();
      await using proxy = await row.start({ application: upstream.port, headgate: gateway.port });
      const charged = await forEachSpelling((spelling, i) => send(proxy, spelling, i));
      const received = new Map(upstream.seen.map(({ url, headers }) => [headers['x-index'], url]));
      const judgements = await forEachSpelling(async (spelling, i): Promise<Judgement> => {
        const target = received.get(String(i));
        const servedBy = target === undefined ? [] : await applicationsThatServe(target);
        return { spelling, reached: target !== undefined, servedBy, charged: charged[i] ?? '' };
      });
      expectNoBypass(row.name, judgements);
    },
  );
});

/** Calls `judge` for all spellings, several at once. Resolves to its results, in the order of the spellings. */
async function forEachSpelling<T>(
  judge: (spelling: string, i: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  const waiting = SPELLINGS.entries();
  const work = async () => {
    for (const [i, spelling] of waiting) results[i] = await judge(spelling, i);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return results;
}

/** The families of applications that the tests know. If none of them serves it, a real NGINX may. */
async function applicationsThatServe(target: string): Promise<string[]> {
  const families = servesPath(target, LOGIN);
  return families.length === 0 && (await nginxServes?.(target)) ? ['a real NGINX'] : families;
}

function expectNoBypass(title: string, judgements: readonly Judgement[]): void {
  const isCounted = ({ charged }: Judgement) => charged.includes('"login"');
  const served = judgements.filter(({ servedBy }) => servedBy.length > 0);
  const reached = judgements.filter((each) => each.reached);
  const overMatched = reached.filter((each) => each.servedBy.length === 0 && isCounted(each));
  console.log(
    `${title}: ${judgements.length} sent, ${judgements.length - reached.length} refused, ` +
      `${served.length} served as login, ${overMatched.length} counted as login though not served`,
  );
  const bypasses = served.filter((each) => !isCounted(each));
  const shown = bypasses.slice(0, 20).map(({ spelling, servedBy, charged }) => {
    return `${JSON.stringify(spelling)} by ${servedBy.join(', ')}, counted by ${charged || 'nothing'}`;
  });
  expect(shown, `${bypasses.length} spellings of login were not counted as login`).toEqual([]);
  // Otherwise the test has tried nothing.
  expect(judgements.length).toBeGreaterThan(2_000);
  expect(served.length).toBeGreaterThan(100);
}

/** Resolves to the limits that counted the request. */
async function send({ url }: RunningProxy, target: string, index: number): Promise<string> {
  if (isForNode(target)) {
    const headers = { 'x-index': String(index) };
    const answer = await call(url, target, { method: 'POST', headers });
    return answer.headers['ratelimit-policy']?.toString() ?? '';
  }
  const answer = await answerTo(url, requestBytes(target, [`X-Index: ${index}`]));
  return /^ratelimit-policy: (.*)\r$/im.exec(answer)?.[1] ?? '';
}

/** Node sends no spaces and control characters. */
function isForNode(target: string): boolean {
  return !/[\0-\x20\x7f]/.test(target);
}

function requestBytes(target: string, lines: readonly string[]): Buffer {
  const head = [`POST ${target} HTTP/1.1`, 'Host: a', ...lines, 'Content-Length: 0'];
  return Buffer.from(`${head.join('\r\n')}\r\nConnection: close\r\n\r\n`, 'latin1');
}

/** An application in NGINX. Resolves to a function that tells whether it serves a target as a login. */
async function startNginxApplication(program: string) {
  const home = temporaryFolder(stack);
  const port = await freePort();
  const file = join(home, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; pid "${join(home, 'pid')}"; error_log stderr crit; events {}
http {
  access_log off;
  keepalive_requests 1000000;
  server {
    listen 127.0.0.1:${port};
    location = ${LOGIN} { return 200 login; }
    location / { return 200 other; }
  }
}`,
  );
  const started = stack.use(startProcess(program, ['-p', home, '-c', file, '-e', 'stderr']));
  await accepting(port, started);
  const url = `http://127.0.0.1:${port}`;
  return async (target: string) => {
    if (!isForNode(target))
      return /\r\n\r\nlogin$/.test(await answerTo(url, requestBytes(target, [])));
    return (await call(url, target, { method: 'POST' })).body === 'login';
  };
}
