/** docs/examples: applications that report what each request turned out to cost, as users copy them. */
import { execFileSync } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { call } from '../support/http.ts';
import { type LocalServer, listenLocally } from '../support/local-server.ts';
import { freePort } from '../support/ports.ts';
import { accepting, startProcess } from '../support/process.ts';
import { isExecutable } from '../support/programs.ts';
import { temporaryFolder } from '../support/temporary.ts';
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

const TOKEN = 'a-token-of_the.gateway';
const ANSWER = { status: 200, body: 'the answer has five tokens' };

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
    const port = await freePort();
    const [program = '', ...args] = command();
    const started = startProcess(program, args, {
      env: {
        ...process.env,
        PORT: String(port),
        HEADGATE_URL: `http://127.0.0.1:${gateway.port}`,
        HEADGATE_SETTLE_SECRET: 'the-settle-secret',
      },
    });
    stack.use(started);
    await accepting(port, started);
    application = `http://127.0.0.1:${port}`;
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
        'x-headgate-settle-secret': 'the-settle-secret',
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
});
