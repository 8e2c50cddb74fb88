/** `headgate demo`: the command that it prints shows the limit that it describes. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { call } from '../support/http.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

const demo = (port: number, env: NodeJS.ProcessEnv = {}) =>
  startProcess(NODE, [MAIN, 'demo', '--port', String(port)], {
    env: { ...process.env, ...env },
  });
const curlLine = async (running: RunningProcess) =>
  (await running.printed(/^ {2}(curl .*)\n[\s\S]*Ctrl\+C/m))[1] ?? '';

/** The output of a command line in a shell. */
async function typed(line: string): Promise<string> {
  const env = { ...process.env, no_proxy: '127.0.0.1' };
  return (await promisify(execFile)('sh', ['-c', line], { env })).stdout;
}

test.skipIf(inject('programs').curl === undefined)('the sixth curl gets a 429', async () => {
  await using running = demo(0);
  const line = await curlLine(running);
  for (let remaining = 4; remaining >= 0; remaining--) {
    const seen = await typed(line);
    expect(seen).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(seen).toContain('X-RateLimit-Limit: 5\r\n');
    expect(seen).toContain(`X-RateLimit-Remaining: ${remaining}\r\n`);
    expect(seen).toMatch(/\r\n\r\nhello from the application\n$/);
  }
  const denied = await typed(line);
  expect(denied).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/);
  expect(denied).toContain('X-RateLimit-Remaining: 0\r\n');
  expect(denied).toMatch(/Retry-After: \d+\r\n/);
  expect(denied).toContain('"error":"rate_limit_exceeded"');
  expect(await typed(`${line} -H 'x-api-key: alice'`)).toContain('X-RateLimit-Remaining: 4\r\n');
});

test('the demo shows who is denied, why, and that invented keys end', async () => {
  await using running = demo(0);
  const line = await curlLine(running);
  const [, opsUrl = ''] = await running.printed(/page +(http:\S+)\/ui\/ /);
  const origin = new URL(/http:\S+/.exec(line)?.[0] ?? '').origin;
  const codes: number[] = [];
  for (const key of ['alice', 'bob', 'carol']) {
    const headers = { 'x-api-key': key };
    for (let n = 0; n < 5; n++)
      codes.push((await call(origin, '/api/auth/login', { method: 'POST', headers })).status);
  }
  expect(codes).toEqual([...Array(10).fill(200), ...Array(5).fill(429)]);
  expect((await call(opsUrl, '/ui/')).status).toBe(200);
  const denied = await call(origin, '/api/auth/login', {
    method: 'POST',
    headers: { 'x-api-key': 'dave' },
  });
  const id = String(denied.headers['x-ratelimit-decision-id']);
  const [, explain = ''] = await running.printed(/ why +(.* explain ID --gateway http:\S+),/);
  const stdout = await typed(explain.replace('ID', id));
  expect(stdout).toContain('policy    login: over_limit, enforced');
});

const application = async (running: RunningProcess) =>
  new URL(/http:\S+/.exec(await curlLine(running))?.[0] ?? '').origin;

test('the demo ignores the settings of the shell, and ends on SIGINT despite connections', async () => {
  const running = demo(0, { HEADGATE_REDIS_URL: 'redis://127.0.0.1:1', HEADGATE_PORT: 'no' });
  const origin = await application(running);
  const { status, headers } = await call(origin, '/api/auth/login', { method: 'POST' });
  expect({ status, mode: headers['x-ratelimit-mode'] }).toEqual({ status: 200, mode: undefined });
  expect(await running.stop('SIGINT')).toBe(0);
});

test('the demo ends on SIGTERM despite connections', async () => {
  const running = demo(0);
  await call(await application(running), '/');
  expect(await running.stop('SIGTERM')).toBe(0);
});

test('a taken port is named with what to do, and the exit code is 1', async () => {
  await using other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  expect(await runCommand(['demo', '--port', String(port)])).toMatchObject({
    code: 1,
    stderr: `headgate: port ${port} is taken, choose another with --port\n`,
  });
});

test('a number that is not a port is a usage error', async () => {
  expect(await runCommand(['demo', '--port', '65536'])).toMatchObject({ code: 2 });
});
