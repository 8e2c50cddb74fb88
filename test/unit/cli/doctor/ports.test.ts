import { createServer as createTcpServer } from 'node:net';
import { beforeEach, expect, test } from 'vitest';
import {
  acceptsSecret,
  bodyOf,
  opsUrlOf,
  portFindings,
  settingsFindings,
} from '../../../../src/cli/doctor/ports.ts';
import { listenLocally } from '../../../support/local-server.ts';
import { answering, timeouts } from './local-answers.ts';

const HERE = '127.0.0.1';
/** Port 0 is any free port, so nothing is tried on it. */
const DEFAULTS = {
  ...{ host: HERE, port: 0, socket: undefined, grpcPort: undefined },
  ...{ opsHost: HERE, opsPort: 0, proxySecrets: [] },
};
type Settings = Parameters<typeof portFindings>[0];

beforeEach(() => timeouts.mockClear());

async function findings(settings: Partial<Settings>): Promise<string[]> {
  const lines: string[] = [];
  for await (const { rule, file, message } of portFindings({ ...DEFAULTS, ...settings }))
    lines.push(`${file} ${rule}: ${message}`);
  return lines;
}

/** The check server and the ops server of a gateway, as far as `doctor` asks them. */
const checkServer = (secret?: string) =>
  answering(({ url, headers }) => ({
    status: 404,
    body:
      url === '/doctor' && headers['x-headgate-secret'] === secret
        ? 'Not found. Proxies send checks to /nginx.'
        : 'The proxy secret is missing or wrong.',
  }));
const opsServer = (body = '{"status":"ok"}\n') =>
  answering(({ url }) => (url === '/livez' ? { body } : { status: 404 }));

test('each port is named once, in order, with its setting', async () => {
  expect(await findings({})).toEqual([
    '127.0.0.1:0 port: HEADGATE_PORT is free',
    '127.0.0.1:0 port: HEADGATE_OPS_PORT is free',
  ]);
  expect(await findings({ grpcPort: 0 })).toEqual([
    '127.0.0.1:0 port: HEADGATE_PORT is free',
    '127.0.0.1:0 port: HEADGATE_GRPC_PORT is free',
    '127.0.0.1:0 port: HEADGATE_OPS_PORT is free',
  ]);
});

test('a unix socket, or no port, leaves the port of the ops server', async () => {
  const ops = ['127.0.0.1:0 port: HEADGATE_OPS_PORT is free'];
  expect(await findings({ socket: '/run/headgate.sock' as never })).toEqual(ops);
  expect(await findings({ port: undefined })).toEqual(ops);
});

test('ports that another program has', async () => {
  await using other = await answering(() => ({ body: 'hello' }));
  const { port } = other;
  expect(await findings({ port, grpcPort: port, opsPort: port })).toEqual([
    `127.0.0.1:${port} port-taken: another program has it: see HEADGATE_PORT`,
    `127.0.0.1:${port} port-taken: another program has it: see HEADGATE_GRPC_PORT`,
    `127.0.0.1:${port} port-taken: another program has it: see HEADGATE_OPS_PORT`,
  ]);
});

test('a gateway has its ports', async () => {
  await using check = await checkServer();
  await using ops = await opsServer();
  await using grpc = await listenLocally(createTcpServer());
  expect(await findings({ port: check.port, grpcPort: grpc.port, opsPort: ops.port })).toEqual([
    `127.0.0.1:${check.port} port: HEADGATE_PORT: a gateway has it`,
    `127.0.0.1:${grpc.port} port: HEADGATE_GRPC_PORT: a gateway has it`,
    `127.0.0.1:${ops.port} port: HEADGATE_OPS_PORT: a gateway has it`,
  ]);
  expect(check.asked).toEqual(['GET /doctor']);
  expect(ops.asked).toEqual(['GET /livez']);
});

test('a gateway with another secret is a gateway, too', async () => {
  await using check = await checkServer('the secret');
  const has = `127.0.0.1:${check.port} port: HEADGATE_PORT: a gateway has it`;
  expect((await findings({ port: check.port, proxySecrets: ['other'] }))[0]).toBe(has);
  expect((await findings({ port: check.port, proxySecrets: ['the secret'] }))[0]).toBe(has);
});

test('a running gateway says nothing of a check port that another program has', async () => {
  await using other = await answering(() => ({ body: 'hello' }));
  await using ops = await opsServer();
  expect(await findings({ port: other.port, opsPort: ops.port })).toEqual([
    `127.0.0.1:${other.port} port-taken: another program has it: see HEADGATE_PORT`,
    `127.0.0.1:${ops.port} port: HEADGATE_OPS_PORT: a gateway has it`,
  ]);
});

test('a program that says otherwise at /livez is no gateway', async () => {
  await using ops = await opsServer('{"status":"no"}');
  expect((await findings({ opsPort: ops.port }))[1]).toContain('port-taken: another program');
});

test('an address that this machine does not have', async () => {
  const { port } = await answering(() => ({})).then(async (server) => {
    await server[Symbol.asyncDispose]();
    return server;
  });
  expect((await findings({ host: '192.0.2.1', port }))[0]).toBe(
    `192.0.2.1:${port} port-refused: cannot be opened (EADDRNOTAVAIL): see HEADGATE_PORT`,
  );
});

test('the gateway says whether it accepts a secret', async () => {
  await using check = await checkServer('first');
  const settings = { ...DEFAULTS, port: check.port };
  expect(await acceptsSecret(settings, 'first')).toBe(true);
  expect(await acceptsSecret(settings, 'second')).toBe(false);
  expect(await acceptsSecret(settings, undefined)).toBe(false);
});

test('nobody says whether a secret is accepted', async () => {
  await using other = await answering(() => ({ body: 'hello' }));
  const settings = { ...DEFAULTS, port: other.port };
  expect(await acceptsSecret(settings, 'first')).toBeUndefined();
  expect(other.asked).toHaveLength(1);
  // What listens on a socket is not asked over a port.
  expect(await acceptsSecret({ ...settings, socket: '/s' as never }, 'first')).toBeUndefined();
  expect(await acceptsSecret({ ...settings, port: undefined }, 'first')).toBeUndefined();
  expect(other.asked).toHaveLength(1);
});

test('a body is read without the space around it, for two seconds if nothing else is said', async () => {
  await using server = await answering(({ headers }) => ({ body: ` ${headers['x-a']}\n` }));
  expect(await bodyOf(server.url)).toBe('undefined');
  expect(await bodyOf(server.url, { headers: { 'x-a': 'b' }, withinMs: 7_000 })).toBe('b');
  expect(timeouts.mock.calls).toEqual([[2_000], [7_000]]);
});

test('redirects are not followed', async () => {
  await using server = await answering(() => ({
    status: 302,
    headers: { location: '/elsewhere' },
    body: 'moved',
  }));
  expect(await bodyOf(server.url)).toBe('moved');
  expect(server.asked).toEqual(['GET /']);
});

test('the URL of the ops server', () => {
  expect(opsUrlOf({ opsHost: '10.0.0.1', opsPort: 9090 })).toBe('http://10.0.0.1:9090');
  expect(opsUrlOf({ opsHost: '::1', opsPort: 9090 })).toBe('http://[::1]:9090');
});

const settingsOf = (settings: Partial<Settings>, isSet = false) =>
  settingsFindings({ ...DEFAULTS, ...settings }, (name) => isSet && name === 'HEADGATE_PORT').map(
    ({ rule, file, message }) => `${file} ${rule}: ${message}`,
  );

test('a check port that others reach needs a secret', () => {
  expect(settingsOf({ host: '0.0.0.0' })).toEqual([
    'HEADGATE_HOST open-check-port: 0.0.0.0 is open to others, without a secret',
  ]);
  expect(settingsOf({ host: '0.0.0.0', proxySecrets: ['secret'] })).toEqual([]);
  for (const host of ['127.0.0.1', '::1', 'localhost']) expect(settingsOf({ host })).toEqual([]);
  expect(settingsOf({ host: '0.0.0.0', socket: '/s' as never })).toEqual([]);
});

test('a port beside a unix socket has no effect', () => {
  expect(settingsOf({ socket: '/s' as never }, true)).toEqual([
    'HEADGATE_PORT unused-port-setting: has no effect beside HEADGATE_LISTEN',
  ]);
  expect(settingsOf({ socket: '/s' as never })).toEqual([]);
  expect(settingsOf({}, true)).toEqual([]);
});
