/** `headgate top` in a real terminal, on a real gateway with traffic. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import type { Gateway } from '../support/gateway.ts';
import { newAddress, policyFile, startOperated, visit } from '../support/operations.ts';
import { userEnvironment } from '../support/package.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { MAIN, NODE } from '../support/tested-command.ts';
import { openTerminal, type TestTerminal } from './support/tmux.ts';

const { tmux } = inject('programs');
const KEYS = /^Tab table {2}Enter why .* q quit$/;

const started = new AsyncDisposableStack();
const folder = temporaryFolder(started);
const fileOf = (name: string) => join(folder, name);
let policies: string;
let gateway: Gateway;

beforeAll(async () => {
  policies = policyFile(started);
  gateway = started.use(await startOperated(policies));
});
afterAll(() => started.disposeAsync());

/** Sends requests until one is denied, and returns the id of that decision. */
async function denied(address: string): Promise<string> {
  for (;;) {
    const { headers } = await visit(gateway, 'POST /pin', { address });
    const id = headers['x-ratelimit-decision-id'];
    if (id !== undefined) return String(id);
  }
}

test('--once and no terminal: tables; -o json: the overview and the clients', async () => {
  const id = await denied(newAddress());
  const args = ['top', '--gateway', gateway.opsUrl];
  const { code, stdout } = await runCommand(args);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^All is well: 1 gateway counts in memory\./);
  expect(stdout).toMatch(/^pin +enforce +/m);
  expect(stdout).toMatch(new RegExp(`^i\\.\\S+ +pin +over_limit +1 .* ${id}$`, 'm'));
  expect((await runCommand([...args, '--once'])).stdout).toContain(id);
  const { overview, top } = JSON.parse((await runCommand([...args, '-o', 'json'])).stdout);
  expect(overview.policies.map(({ name }: { name: string }) => name)).toContain('pin');
  expect(top.clients).toContainEqual(expect.objectContaining({ decision_id: id }));
});

describe.skipIf(tmux === undefined)('in a terminal of 80 columns and 24 rows', () => {
  let terminal: TestTerminal;
  let settings: string;

  beforeAll(async () => {
    const env = { ...userEnvironment(NODE), LC_ALL: 'C.UTF-8', PS1: '$ ' };
    terminal = started.use(await openTerminal(tmux ?? '', { columns: 80, rows: 24, env }));
    await terminal.enter(`stty -a > ${fileOf('before')}; echo before $((1 + 1))`);
    await terminal.shows(/^before 2$/);
    settings = readFileSync(fileOf('before'), 'utf8');
  });

  /** `nodeOptions` go before the program. Returns its process id. */
  async function startTop(...nodeOptions: string[]): Promise<number> {
    const words = [...nodeOptions, MAIN, 'top', '--interval', '1s', '--gateway', gateway.opsUrl];
    const program = [NODE, ...words].map((word) => `'${word}'`).join(' ');
    await terminal.enter(
      `clear; (sh -c 'echo $$ > ${fileOf('pid')}; exec "$0" "$@"' ${program}); echo ended with $?`,
    );
    await terminal.shows(/^All is well/);
    expect(await terminal.state()).toEqual({ isAlternate: true, hasCursor: false });
    return Number(readFileSync(fileOf('pid'), 'utf8'));
  }

  /** The shell has its terminal back: its lines, its cursor, and its settings. */
  async function expectAsBefore(code: number): Promise<string[]> {
    const lines = await terminal.shows(new RegExp(`^ended with ${code}$`));
    expect(await terminal.state()).toEqual({ isAlternate: false, hasCursor: true });
    await terminal.enter(`stty -a > ${fileOf('after')}; echo after $((1 + 1))`);
    await terminal.shows(/^after 2$/);
    expect(readFileSync(fileOf('after'), 'utf8')).toBe(settings);
    return lines;
  }

  test('it shows policies and denied clients, fits every size, resets a client, and quits', async () => {
    const address = newAddress();
    const id = await denied(address);
    await startTop();
    const lines = await terminal.shows(new RegExp(` ${id}$`));
    expect(lines).toHaveLength(24);
    expect(lines[0]).toMatch(/^headgate top .*http.* \d\d:\d\d:\d\d UTC$/);
    expect(lines).toContainEqual(expect.stringMatching(/^> pin +enforce /));
    expect(lines.at(-1)).toMatch(KEYS);

    await terminal.resize(120, 30);
    const wide = await terminal.shows(/CLIENT +POLICY +REASON/);
    expect(wide).toHaveLength(30);
    await terminal.resize(40, 12);
    const small = await terminal.shows(/^\? help {2}q quit$/);
    expect(small).toHaveLength(12);
    expect(small.join('\n')).not.toContain('DECISION');
    await terminal.resize(80, 24);
    await terminal.shows(KEYS);

    await terminal.press('Tab', '/');
    await terminal.type(id);
    await terminal.press('Enter', 'Enter');
    await terminal.shows(new RegExp(`^decision +${id}$`));
    await terminal.shows(/^now +remaining: 0/);
    await terminal.press('r');
    await terminal.type('ticket 4711');
    await terminal.press('Enter');
    await terminal.shows(/^Reset the counters of i\.\S+ in all policies, "ticket 4711"\?$/);
    expect(await visit(gateway, 'POST /pin', { address })).toMatchObject({ status: 429 });
    await terminal.press('y');
    await terminal.shows(/^i\.\S+: counters reset: pin, /);
    expect(await visit(gateway, 'POST /pin', { address })).toMatchObject({ status: 200 });

    await terminal.press('BSpace');
    await terminal.shows(/^ {2}no client that was denied in the last five minutes matches/);
    await terminal.press('Tab', 'Enter');
    await terminal.shows(/^policy +pin$/);
    await terminal.press('q');
    await expectAsBefore(0);
  });

  test('a gateway that is gone leaves its last data, with their age, until it is back', async () => {
    const pid = await startTop();
    const { port } = new URL(gateway.opsUrl);
    await gateway.stop();
    const lines = await terminal.shows(/^Data of \d+ s ago: no gateway answers/);
    expect(lines).toContainEqual(expect.stringMatching(/^> pin +enforce /));
    gateway = started.use(await startOperated(policies, { HEADGATE_OPS_PORT: port }));
    await terminal.shows(/^All is well/);
    process.kill(pid, 'SIGTERM');
    // 128 and the number of SIGTERM.
    await expectAsBefore(143);
  });

  test('a crash is reported on the terminal as it was', async () => {
    const fault = 'process.on("SIGUSR2", () => { throw new Error("a fault") })';
    const pid = await startTop('--import', `data:text/javascript,${encodeURIComponent(fault)}`);
    process.kill(pid, 'SIGUSR2');
    const lines = await expectAsBefore(1);
    expect(lines).toContainEqual(expect.stringMatching(/^Error: a fault/));
  });
});
