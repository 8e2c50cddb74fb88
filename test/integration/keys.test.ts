/** Keys of the store: what the commands print, and what gateways then do. */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import type { Gateway } from '../support/gateway.ts';
import { newAddress, startOperated, visit } from '../support/operations.ts';
import { temporaryFile } from '../support/temporary.ts';

const POLICIES = `
version: 1
identity:
  sources: [api_key, ip]
  trusted_proxies: [loopback]
  api_key: { keys: redis }
default: { limits: [2/1h], plans: { pro: [4/1h] } }
`;

const started = new AsyncDisposableStack();
let gateway: Gateway;

beforeAll(async () => {
  gateway = started.use(await startOperated(temporaryFile(started, POLICIES)));
});
afterAll(() => started.disposeAsync());

async function headgate(args: readonly string[], input?: string) {
  const env = { HEADGATE_OPS_PORT: new URL(gateway.opsUrl).port };
  const { code, stdout, stderr } = await runCommand(args, {
    env,
    ...(input !== undefined && { input }),
  });
  return { code, said: stdout, complained: stderr };
}

async function done(...args: readonly string[]): Promise<string> {
  const { code, said, complained } = await headgate(args);
  expect({ code, complained }).toEqual({ code: 0, complained: '' });
  return said;
}

async function added(id: string, ...flags: readonly string[]): Promise<string> {
  const said = await done('keys', 'add', '--id', id, ...flags);
  const [key] = /hg_[\w-]{43}/.exec(said) ?? [];
  return String(key);
}

const LOST = 'warning: this gateway has no Redis: the keys are lost when it ends';

/** Each request comes from another address. */
const statusOf = async (key: string) =>
  (await visit(gateway, '/', { key, address: newAddress() })).status;

test('a key is added, printed once, and counts with its plan from any address', async () => {
  const said = await done(
    'keys',
    'add',
    '--id',
    'acme',
    '--plan',
    'pro',
    '--comment',
    'a customer',
  );
  const [key = ''] = /hg_[\w-]{43}/.exec(said) ?? [];
  const digits = hash('sha256', key, 'hex').slice(0, 12);
  expect(said.split('\n')).toEqual([
    'The key. headgate does not show it again:',
    `  ${key}`,
    `id:acme (plan pro), key ${digits}: every gateway knows it within a second.`,
    'Give it to the client, which sends it in the header that identity.api_key.header names.',
    LOST,
    '',
  ]);
  const statuses = [];
  for (let i = 0; i < 5; i++) statuses.push(await statusOf(key));
  expect(statuses).toEqual([200, 200, 200, 200, 429]);
  const shown = await done('clients', 'show', 'id:acme');
  expect(shown).toMatch(/^client +id:acme \(plan pro\), c\./);
  expect(shown).toMatch(/^key +in this gateway, lost when it ends$/m);
  const top = await done('clients', 'top');
  expect(top).toMatch(/^id:acme \(plan pro\) /m);
  expect(await done('keys', 'show', 'acme')).toMatch(
    new RegExp(`^acme +${digits} +pro +valid +\\d.* a customer$`, 'm'),
  );
  const explained = await done(
    ...['explain', '--gateway', gateway.opsUrl, '--url', '/', '-H', `x-api-key: ${key}`],
  );
  expect(explained).toContain('the store has the key: id:acme (plan pro)');
});

test('a key is changed, blocked, rotated and revoked', async () => {
  const key = await added('globex');
  expect(
    await done('keys', 'change', 'globex', '--plan', 'pro', '--expires', '2099-01-01'),
  ).toMatch(/^id:globex \(plan pro\), key \w{12}, until 2099-01-01 00:00:00 UTC, in \d+ d$/m);
  const shown = await done('clients', 'show', 'id:globex');
  expect(shown).toMatch(/^client +id:globex \(plan pro\), c\./);
  const [partition = ''] = /c\.[\w-]{22}/.exec(shown) ?? [];
  await done('keys', 'change', 'globex', '--plan', '');
  // At once, also by the name of the log.
  expect(await done('clients', 'show', partition)).toMatch(/^client +id:globex, c\./);
  await done('keys', 'change', 'globex', '--block');
  const blocked = await visit(gateway, '/', { key, address: newAddress() });
  expect(blocked.status).toBe(403);
  const id = String(blocked.headers['x-ratelimit-decision-id']);
  const still = 'still blocked: headgate keys change globex --unblock';
  expect(await done('explain', id)).toContain(`(headgate keys); ${still}`);
  expect(await done('clients', 'show', 'id:globex')).toMatch(
    /^key +key globex is blocked \(headgate keys\): headgate keys change globex --unblock$/m,
  );
  expect(await headgate(['clients', 'unblock', 'id:globex'])).toMatchObject({
    ...{ code: 2, complained: expect.stringContaining('headgate keys change globex --unblock') },
  });
  await done('keys', 'change', 'globex', '--unblock');
  expect(await statusOf(key)).toBe(200);
  const rotated = await done('keys', 'rotate', 'globex', '--overlap', '2d');
  expect(rotated).toMatch(/^The other key, \w{12}, stays valid until .*, in 2 d\.$/m);
  const [other = ''] = /hg_[\w-]{43}/.exec(rotated) ?? [];
  expect(await statusOf(other)).toBe(200);
  const digits = hash('sha256', key, 'hex').slice(0, 8);
  expect(await done('keys', 'revoke', 'globex', '--sha256', digits)).toContain(
    'this id still has 1 key\n',
  );
  const list = JSON.parse(await done('keys', 'list', '-o', 'json'));
  expect(list.keys.filter(({ id }: { id: string }) => id === 'globex')).toHaveLength(1);
  await done('keys', 'revoke', 'globex');
  // The key is unlisted now, so its address gets the ordinary limit, twice for unlisted keys.
  expect((await headgate(['clients', 'show', 'id:globex'])).code).toBe(2);
});

test.each([
  [['add', '--id', 'acme'], 2, /this id has a key already: to replace it, headgate keys rotate/],
  [['add', '--id', 'x', '--expires', 'soon'], 2, /expires: is not a duration/],
  [['show', 'nobody'], 2, /the store has no key with this id; headgate keys list/],
  [['change', 'acme'], 2, /nothing to change/],
  [['change', 'acme', '--block', '--unblock'], 2, /choose one of --block and --unblock/],
  [['import', '/nowhere/keys.jsonl'], 2, /\/nowhere\/keys.jsonl cannot be read: ENOENT/],
] as const)('keys %j exits with %d', async (args, code, message) => {
  const failed = await headgate(['keys', ...args]);
  expect(failed).toMatchObject({ code, complained: expect.stringMatching(message) });
});

test('a database is imported, again and again; broken lines are named', async () => {
  const count = 2_345;
  const lines = Array.from({ length: count }, (_, i) =>
    JSON.stringify({ id: `c${i}`, sha256: hash('sha256', `key-${i}`, 'hex'), plan: 'pro' }),
  );
  lines.splice(1_000, 0, 'not a key: hg_secret');
  const first = await headgate(['keys', 'import', '-'], lines.join('\n'));
  expect(first).toMatchObject({
    code: 1,
    complained: expect.stringMatching(/^standard input:1001: is no JSON object/),
    said: `${count} keys added, 0 changed, 0 unchanged; 1 line refused\n${LOST}\n`,
  });
  expect(first.complained).not.toContain('hg_secret');
  const file = temporaryFile(started, lines.filter((line) => line.startsWith('{')).join('\n'));
  expect(readFileSync(file, 'utf8')).toContain('c2344');
  expect(await done('keys', 'import', file)).toContain(
    `0 keys added, 0 changed, ${count} unchanged`,
  );
  expect(await statusOf('key-77')).toBe(200);
  const odd = lines.map((line) => line.replace('"pro"', '"prop"')).join('\n');
  const last = JSON.stringify({ id: 'old', sha256: '0'.repeat(64), expires: '2020-01-31' });
  // The first broken line makes the command fail, after the rest is imported.
  expect((await headgate(['keys', 'import', '-'], `${odd}\n${last}`)).said).toBe(
    [
      `1 key added, ${count} changed, 0 unchanged; 1 line refused`,
      `warning: ${count} keys, first c0 in line 1: no policy has the plan "prop", did you mean "pro"?; until one has, the ordinary limits apply; the plans are pro`,
      'warning: 1 key, first old in line 2347: the end has passed, so such a key counts as unlisted',
      `${LOST}\n`,
    ].join('\n'),
  );
  const page = JSON.parse(await done('keys', 'list', '--limit', '1000', '-o', 'json'));
  const next = JSON.parse(
    await done('keys', 'list', '--limit', '1000', '--after', page.next, '-o', 'json'),
  );
  expect(next.keys[0].id > page.keys.at(-1).id).toBe(true);
});
