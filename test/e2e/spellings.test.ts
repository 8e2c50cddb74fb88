/**
 * Thousands of spellings of one path, through real proxies to applications that take many of them for it: whatever an
 * application serves as login has been counted as login.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { spellingsOf } from '../../src/config/check/spellings.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { startHaproxy } from '../support/haproxy.ts';
import { call } from '../support/http.ts';
import { servesPath } from '../support/lenient-servers.ts';
import { freePort } from '../support/ports.ts';
import { accepting, startProcess } from '../support/process.ts';
import { type RunningProxy, startCaddy, startEnvoy, startNginx } from '../support/proxies.ts';
import { exchange, statusOf } from '../support/raw-http.ts';
import { startUpstream } from '../support/upstream.ts';

const LOGIN = '/api/auth/login';
const SPELLINGS = spellingsOf(LOGIN);
const PROXIES = [
  { name: 'nginx', start: startNginx },
  { name: 'envoy', start: startEnvoy },
  { name: 'caddy', start: startCaddy },
  { name: 'haproxy', start: startHaproxy },
] as const;

/** Nobody is ever denied: what matters is who is asked. */
const POLICIES = `
version: 1
default: { limits: [1000000/1h] }
policies:
  - { name: login, match: { method: POST, path: ${LOGIN} }, limits: [1000000/1h] }
  - { name: strictest, match: { path: /admin }, limits: [1000000/1d] }
  - { name: api, match: { method: [GET, POST], path: "/api/*" }, limits: [1000000/1min] }
  - { name: everything, match: { method: [GET, POST], path: "/*" }, limits: [1000000/1s] }
`;

/** Few enough that a busy machine still answers a proxy in time. */
const AT_ONCE = 16;

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  /** Of the RateLimit-Policy field: the limits that were asked. */
  readonly charged: string;
}

interface Judgement {
  readonly spelling: string;
  readonly reached: boolean;
  /** Who served it as login; nobody if the list is empty. */
  readonly servedBy: readonly string[];
  readonly charged: string;
}

const folder = mkdtempSync(join(tmpdir(), 'headgate-spellings-'));
const policyFile = join(folder, 'policies.yaml');
let gateway: Gateway;

beforeAll(async () => {
  writeFileSync(policyFile, POLICIES);
  gateway = await startGateway({ HEADGATE_POLICIES: policyFile });
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

describe.each(PROXIES)('$name', ({ name, start }) => {
  const { nginx, [name]: proxyProgram } = inject('programs');

  test.skipIf(!proxyProgram)('an application of any family', async () => {
    await using upstream = await startUpstream();
    await using proxy = await start({ application: upstream.port, headgate: gateway.port });
    const answers = await sendAll(proxy, ({ body }) => body === 'the application');
    const received = new Map(upstream.seen.map(({ url, headers }) => [headers['x-index'], url]));
    const judgements = answers.map(({ charged }, i) => {
      const url = received.get(String(i));
      const servedBy = url === undefined ? [] : servesPath(url, LOGIN);
      return { spelling: spellingAt(i), reached: url !== undefined, servedBy, charged };
    });
    expectNoBypass(`${name}, any family`, judgements);
  });

  test.skipIf(!proxyProgram || !nginx)('NGINX as the application', async () => {
    await using application = await startApplication(nginx ?? '');
    await using proxy = await start({ application: application.port, headgate: gateway.port });
    const reached = ({ status, body }: Answer) => status === 200 && /^(login|other)$/.test(body);
    const answers = await sendAll(proxy, reached);
    const judgements = answers.map((answer, i) => {
      const servedBy = reached(answer) && answer.body === 'login' ? ['nginx'] : [];
      const { charged } = answer;
      return { spelling: spellingAt(i), reached: reached(answer), servedBy, charged };
    });
    expectNoBypass(`${name}, nginx`, judgements);
  });
});

function spellingAt(i: number): string {
  return SPELLINGS[i] ?? '';
}

function expectNoBypass(title: string, judgements: readonly Judgement[]): void {
  const held = ({ charged }: Judgement) => charged.includes('"login"');
  const served = judgements.filter(({ servedBy }) => servedBy.length > 0);
  const reached = judgements.filter((each) => each.reached);
  const overMatched = reached.filter((each) => each.servedBy.length === 0 && held(each));
  console.log(
    `${title}: ${judgements.length} sent, ${judgements.length - reached.length} refused, ` +
      `${served.length} served as login, ${overMatched.length} charged as login though not served`,
  );
  const bypasses = served.filter((each) => !held(each));
  const shown = bypasses.slice(0, 20).map(({ spelling, servedBy, charged }) => {
    return `${JSON.stringify(spelling)} by ${servedBy.join(', ')}, charged ${charged || 'nothing'}`;
  });
  expect(shown, `${bypasses.length} spellings of login were not charged as login`).toEqual([]);
  // Otherwise nothing was tried.
  expect(judgements.length).toBeGreaterThan(2_000);
  expect(served.length).toBeGreaterThan(100);
}

async function sendAll(
  proxy: RunningProxy,
  reached: (answer: Answer) => boolean,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  const waiting = SPELLINGS.entries();
  const work = async () => {
    for (const [i, spelling] of waiting) {
      let answer = await send(proxy.url, spelling, i);
      // Where the gateway was too late, the proxy let the request pass; that is not what is tried here.
      for (let again = 0; again < 3 && reached(answer) && answer.charged === ''; again++) {
        answer = await send(proxy.url, spelling, i);
      }
      answers[i] = answer;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return answers;
}

async function send(url: string, target: string, index: number): Promise<Answer> {
  // Node sends no spaces and control characters.
  if (/[\0-\x20\x7f]/.test(target)) return sendBytes(url, target, index);
  const { status, headers, body } = await call(url, target, {
    method: 'POST',
    headers: { 'x-index': String(index) },
  });
  return { status, body, charged: headers['ratelimit-policy']?.toString() ?? '' };
}

async function sendBytes(url: string, target: string, index: number): Promise<Answer> {
  const head = `POST ${target} HTTP/1.1\r\nHost: a\r\nX-Index: ${index}\r\n`;
  const rest = 'Content-Length: 0\r\nConnection: close\r\n\r\n';
  const answer = await exchange(url, Buffer.from(head + rest, 'latin1'), 500);
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  const charged = /^ratelimit-policy: (.*)\r$/im.exec(answer)?.[1] ?? '';
  return { status: statusOf(answer), body, charged };
}

interface Application extends AsyncDisposable {
  readonly port: number;
}

async function startApplication(program: string): Promise<Application> {
  const home = mkdtempSync(join(tmpdir(), 'headgate-application-'));
  const port = await freePort();
  const file = join(home, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; pid ${join(home, 'pid')}; error_log stderr crit; events {}
http {
  access_log off;
  server {
    listen 127.0.0.1:${port};
    location = ${LOGIN} { return 200 login; }
    location / { return 200 other; }
  }
}`,
  );
  const started = startProcess(program, ['-p', home, '-c', file, '-e', 'stderr']);
  await accepting(port, started);
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      await started.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
