/** `headgate suggest`: its outputs, and what it says of logs and options that it cannot use. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Circumstances, runCommand } from '../support/command.ts';
import { combinedLine } from '../support/log-entries.ts';
import { policySetFrom } from '../support/policies.ts';
import { syntheticLog } from '../support/synthetic-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-suggest-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

function suggest(args: readonly string[], circumstances: Circumstances = {}) {
  return runCommand(['suggest', ...args], { cwd: folder, ...circumstances });
}

const requests = syntheticLog({
  ...{ seed: 1, startMs: Date.UTC(2026, 0, 5), days: 3, people: 250, offices: 3, crawlers: 2 },
  ...{ monitors: 1, attacks: [] },
});
const text = [...requests].map(({ entry }) => combinedLine(entry)).join('');
const log = file('access.log', text);
const NO_PAGE = {
  ...{ startMs: Date.UTC(2026, 0, 5), method: 'GET', host: undefined, address: '60.0.0.1' },
  ...{ forwardedFor: undefined, status: 200, userAgent: 'Chrome', fields: [] },
};
const policies = file(
  'policies.yaml',
  `version: 1
default: { limits: [1000/1h] }
policies:
  - name: login
    match: { method: POST, path: /api/login }
    limits: [5/5min]
  - name: elsewhere
    match: { host: example.com }
    limits: [5/5min]
`,
);

describe('text', () => {
  test('shows each route with choices, and what a reader must know', async () => {
    const { code, stdout, stderr } = await suggest([log, '--holdout', '1d']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^log {7}2026-01-05 to 2026-01-06, [\d,]+ requests, \d+ clients\n/);
    expect(stdout).toMatch(/\nheld out {2}2026-01-07, /);
    expect(stdout).toContain('The stamps are whole seconds.');
    expect(stdout).toMatch(/\nPOST \/api\/login: \d+ requests\n {2}evidence {2}\d+ client-days of/);
    expect(stdout).toMatch(/\n {2}\* {2}\d+\/\S+ /);
    expect(stdout).not.toMatch(/20\.0\.\d+\.\d+/);
  });

  test('is the same from standard input', async () => {
    const [{ stdout: read }, { stdout: piped }] = [
      await suggest([log]),
      await suggest(['-'], { input: text }),
    ];
    const figures = (output: string) => output.slice(output.indexOf('Each choice'));
    expect(figures(piped)).toBe(figures(read));
  });
});

test('text says that rarely used paths count for everything else', async () => {
  const pages = Array.from({ length: 1_500 }, (_, i) => {
    const letters = i.toString(26).replace(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)] ?? '');
    const target = `/page-${letters}`;
    const entry = { ...NO_PAGE, target, startMs: NO_PAGE.startMs + 1_000 * i };
    return combinedLine(entry);
  });
  const scanned = file('scanned.log', pages.join(''));
  const { stdout } = await suggest([scanned, log]);
  expect(stdout).toMatch(/note +[\d,]+ requests for rarely used paths count for everything else/);
  expect(stdout).toContain('\nPOST /api/login: ');
  expect((await suggest([log])).stdout).not.toContain('rarely used paths');
});

test('yaml is a valid policy file in shadow mode', async () => {
  const { stdout } = await suggest([log, '-o', 'yaml', '--capacity', '500/1s']);
  for (const { mode } of policySetFrom(stdout).policies) expect(mode).toBe('shadow');
  const again = await suggest([log, '-o', 'yaml', '--capacity', '500/1s']);
  expect(again.stdout).toBe(stdout);
  const checked = await runCommand(['check', file('proposed.yaml', stdout)], { cwd: folder });
  expect(checked.code).toBe(0);
});

test('yaml for a policy file has the limits of its policies', async () => {
  const { stdout } = await suggest([log, '-o', 'yaml', '--policies', policies]);
  const [login] = policySetFrom(stdout).policies;
  expect(login).toMatchObject({ name: 'login', mode: 'shadow' });
  expect(stdout).toContain('# Rests on');
  expect(stdout).toContain('No request matches these policies: elsewhere; the log has no hosts');
});

test('json has the choices with their shares', async () => {
  const { stdout } = await suggest([log, '-o', 'json']);
  const { routes } = JSON.parse(stdout);
  const login = routes.find(({ title }: { title: string }) => title === 'POST /api/login');
  expect(login).toMatchObject({ enough_evidence: true, rests_on: { clients: expect.any(Number) } });
  expect(login.choices[0].measured.ordinary.clients).toEqual({
    ...{ denied: expect.any(Number), of: expect.any(Number) },
    ...{ share: expect.any(Number), low: expect.any(Number), high: expect.any(Number) },
  });
});

describe('fails plainly', () => {
  test.each([
    [['no.log'], 1, 'no.log: '],
    [[file('empty.log', '')], 1, 'empty.log: is empty'],
    [[file('notes.log', 'not a log\n')], 1, 'notes.log: is of no format'],
    [[log, '--holdout', '9d'], 2, '--holdout leaves no day'],
    [[log, '--holdout', '3h'], 2, 'whole days'],
    [[log, '--capacity', 'much'], 2, 'is not a rate'],
    [[log, '--map', 'key=x'], 2, 'api_key=FIELD'],
    [[log, '--policies', 'no.yaml'], 3, 'no.yaml'],
    [[], 2, 'missing required argument'],
  ])('on %j', async (args, code, message) => {
    const result = await suggest(args);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(message);
  });
});
