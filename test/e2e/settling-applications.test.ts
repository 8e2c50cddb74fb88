/** docs/examples: applications that report what each request turned out to cost, as users copy them. */
import { execFileSync } from 'node:child_process';
import { Agent, createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { type LocalServer, listenLocally } from '../support/local-server.ts';
import { freePort } from '../support/ports.ts';
import { accepting, startProcess } from '../support/process.ts';
import { isExecutable } from '../support/programs.ts';
import { startNginx } from '../support/proxies.ts';
import { temporaryFile, temporaryFolder } from '../support/temporary.ts';
import { NODE } from '../support/tested-command.ts';

const EXAMPLES = fileURLToPath(new URL('../../docs/examples/', import.meta.url));
const onPath = (name: string) =>
  (process.env.PATH ?? '')
    .split(':')
    .map((folder) => join(folder, name))
    .find(isExecutable);
const PYTHON = onPath('python3');
const GO = onPath('go');

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

interface Example {
  readonly name: string;
  /** Undefined if it cannot run here. */
  readonly command: (() => string[]) | undefined;
}

const ALL: readonly Example[] = [
  { name: 'settle.mjs', command: () => [NODE, join(EXAMPLES, 'settle.mjs')] },
  { name: 'settle.py', command: PYTHON && (() => [PYTHON, join(EXAMPLES, 'settle.py')]) },
  {
    name: 'settle.go',
    command:
      GO &&
      (() => {
        const program = join(temporaryFolder(stack), 'settle');
        execFileSync(GO, ['build', '-o', program, join(EXAMPLES, 'settle.go')]);
        return [program];
      }),
  },
].map((each) => ({ ...each, command: each.command || undefined }));

interface Reported {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

const SECRET = 'the-secret-of-applications-that-settle';
const TOKEN = 'a-token-of_the.gateway';
const ANSWER = { status: 200, body: 'the answer has five tokens' };

/** `headgate`: the port where it reports. */
async function startExample(command: () => string[], headgate: number) {
  const port = await freePort();
  const [program = '', ...args] = command();
  const started = startProcess(program, args, {
    env: {
      ...process.env,
      PORT: String(port),
      HEADGATE_URL: `http://127.0.0.1:${headgate}`,
      HEADGATE_SETTLE_SECRET: SECRET,
    },
  });
  stack.use(started);
  await accepting(port, started);
  return { port, output: started.output };
}

const LIMIT = 100_000;
const RESERVE = 100;
const POLICIES = `
version: 1
identity: { sources: [ip] }
default:
  limits:
    - { rate: ${LIMIT}/month, unit: tokens, reserve: ${RESERVE}, unknown: 1000 }
`;

describe.each(ALL)('$name', ({ command }) => {
  const testHere = test.skipIf(command === undefined);
  const reports: Reported[] = [];
  let gateway: LocalServer;
  let application: string;
  let output: () => string;

  beforeAll(async () => {
    if (command === undefined) return;
    const server = createServer(async (request, response) => {
      reports.push({ path: request.url, headers: request.headers, body: await json(request) });
      // The connection stays open, so an application that waits for the whole answer would hang.
      if (reports.length === 2) response.writeHead(200).write('{');
      else response.end('{"result":"ended","reason":"The token has expired."}');
    });
    gateway = stack.use(await listenLocally(server));
    const started = await startExample(command, gateway.port);
    application = `http://127.0.0.1:${started.port}`;
    output = started.output;
  });

  const send = (headers: Record<string, string>) =>
    call(application, '/', { method: 'POST', headers: { ...headers, Connection: 'close' } });
  const reported = (count: number) =>
    eventually(
      async () => reports.length,
      (length) => length >= count,
    );
  const complaints = (count: number) =>
    eventually(
      async () => output().match(/not settled: .*/g) ?? [],
      ({ length }) => length >= count,
    );

  testHere(
    'reports the token of a request with status and units, and what was refused',
    async () => {
      expect(await send({})).toMatchObject(ANSWER);
      expect(await send({ 'X-Headgate-Settle': TOKEN })).toMatchObject(ANSWER);
      await reported(1);
      const [report] = reports;
      expect(report?.path).toBe('/settle');
      expect(report?.headers).toMatchObject({
        'content-type': 'application/json',
        'x-headgate-settle-secret': SECRET,
      });
      // Those of web pages would be refused.
      expect(report?.headers.origin ?? report?.headers['sec-fetch-site']).toBeUndefined();
      expect(report?.body).toEqual({ token: TOKEN, status: 200, units: { tokens: 5 } });
      expect((await complaints(1)).join()).toContain('The token has expired.');
      expect(reports).toHaveLength(1);
    },
  );

  testHere('answers while the gateway hangs, and gives up', async () => {
    expect(await send({ 'X-Headgate-Settle': TOKEN })).toMatchObject(ANSWER);
    await complaints(2);
  });

  testHere('answers while the gateway is down', async () => {
    await gateway[Symbol.asyncDispose]();
    expect(await send({ 'X-Headgate-Settle': TOKEN })).toMatchObject(ANSWER);
    await complaints(3);
  });

  test.skipIf(command === undefined || inject('programs').nginx === undefined)(
    'is charged what its answers took, behind NGINX',
    async () => {
      if (command === undefined) return;
      await using headgate = await startGateway({
        HEADGATE_POLICIES: temporaryFile(stack, POLICIES),
        HEADGATE_SETTLE_SECRET: SECRET,
      });
      const { port } = await startExample(command, headgate.port);
      await using nginx = await startNginx({ application: port, headgate: headgate.port });
      const agent = new Agent({ localAddress: '127.0.6.1' });
      for (let i = 0; i < 3; i++) {
        const answer = await call(nginx.url, '/', { method: 'POST', agent });
        expect(answer).toMatchObject(ANSWER);
        expect(answer.headers['x-headgate-settle']).toBeUndefined();
      }
      const settled = /^headgate_settlements_total\{.*channel="settle",result="settled"\} 3$/m;
      await eventually(
        async () => (await call(headgate.opsUrl, '/metrics')).body,
        (metrics) => settled.test(metrics),
      );
      const next = await call(headgate.url, '/envoy/', {
        headers: { 'x-headgate-client-ip': '127.0.6.1' },
      });
      expect(next.headers['x-ratelimit-remaining']).toBe(String(LIMIT - 3 * 5 - RESERVE));
    },
  );
});
