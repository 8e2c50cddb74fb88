/**
 * No command prints control characters of others, because they would move the cursor, change earlier lines or reverse the
 * direction of text. Every command runs against a server whose answers consist of such characters.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProgram, everyCommand } from '../../src/cli/program.ts';
import { createTelemetry } from '../../src/gateway/telemetry/telemetry.ts';
import { runCommand } from '../support/command.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** Clears the screen, ends lines in five ways, reverses text, hides, rings the bell, and sets the title. */
const HOSTILE =
  'a\u001b[2J\u009b2Jb\r\nc\u0085d\u2028e\u2029f\u202eg\u2066h\u200bi\u0007\u007f\u001b]0;t\u0007\u{e0041}\ufeffz';
const CONTROLS = /[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/u;
const TERMS = ['--for', '1h', '--reason', 'a test', '--by', 'me'];

const TIME = '2026-11-22T00:53:32.723Z';

/** The answers to all calls, with this text in every field that may hold any text. */
const answersWith = (text: unknown, number: unknown = 1) => {
  // Gateways remove control characters from denials.
  const printable = text === HOSTILE ? text.replaceAll(/\p{Cc}/gu, '') : text;
  const denial = {
    ...Object.fromEntries(
      'decision_id policy reason mode client came_as identity limit allows counted key dialect'
        .split(' ')
        .map((name) => [name, printable]),
    ),
    ...{ since: TIME, last: TIME, until: TIME },
  };
  const terms = { since: TIME, until: TIME, reason: text, by: text };
  const override = { about: 'client', client: text, access: 'blocked', ...terms };
  const overrides = [
    override,
    { about: 'policy', policy: text, mode: 'off', ...terms },
    { about: 'log_level', level: text, ...terms },
    { about: 'log_allows', allows_one_in: number, ...terms },
  ];
  const server = { version: text, max_memory_policy: text, used_memory_bytes: number };
  const quota = { remaining: number, retry_after_ms: number, reset_after_ms: number };
  const now = { allows: printable, ...quota };
  const rates = { requests: number, denials: number, would_deny: number };
  const series = { requests: [number], denials: [number], would_deny: [number], rates };
  const denied = { clients: [{ ...denial, denials: number }], gateways: { asked: 3, answered: 1 } };
  const apiKey = {
    ...{ id: text, sha256: text, plan: text, comment: text, state: 'valid' },
    ...{ added: TIME, ends: TIME },
  };
  const warnings = [text];
  const made = { key: text, added: apiKey, warnings };
  return {
    'POST /v1/keys': made,
    'GET /v1/keys': { keys: [apiKey], warnings, next: text },
    'POST /v1/keys/change': { keys: [apiKey], warnings },
    'POST /v1/keys/rotate': { ...made, others: [apiKey], removed: number },
    'POST /v1/keys/revoke': { revoked: [apiKey], left: number },
    'POST /v1/keys/import': {
      ...{ added: number, changed: number, unchanged: number },
      ...{ refused: [], doubtful: [{ index: 0, message: text }], warnings },
    },
    'GET /v1/overview': {
      ...{ time: TIME, step_ms: 5_000, until: TIME, without_policy: series, policies_left_out: 1 },
      ...{ rate_ms: 10_000, rates, gateway: { host: text, version: text } },
      status: [{ level: 'wrong', text }],
      gateways: { asked: 3, answered: 1, workers: 0 },
      policies: [
        {
          ...{ name: text, mode: 'shadow', mode_of_file: 'off', limits: [text] },
          ...{ on_store_failure: text, ...series },
        },
      ],
      store: {
        ...{ kind: 'redis', version: text },
        states: [
          { state: 'closed', gateways: number, since: TIME, reason: text, policies: [text] },
        ],
      },
      policy_file: {
        digests: [{ digest: text, gateways: number, since: TIME }],
        refused: { at: TIME, mistakes: [text] },
      },
      actions: [
        {
          ...{ at: TIME, action: text, subject: text, change: text, by: text, reason: text },
          is_confirmed: false,
        },
      ],
    },
    'GET /v1/clients/top': denied,
    'POST /v1/clients/denied': denied,
    'POST /v1/clients/inspect': {
      ...{ client: text, client_id: text, plan: text, access: 'blocked', overrides: [override] },
      listed: [{ list: 'block', entry: text, applies: true, what: text }],
      limits: [{ policy: text, mode: 'enforce', limit: text, ...quota, allows: text }],
      denials: [{ ...denial, denials: number }],
      gateways: { asked: 3, answered: 1 },
    },
    'GET /v1/overrides': { overrides },
    'GET /v1/policies': {
      policies: [
        {
          ...{ name: text, mode: 'shadow', mode_of_file: 'off', limits: [text, text] },
          on_store_failure: text,
        },
      ],
    },
    'GET /stats': {
      store: 'redis',
      gateways: number,
      active_windows: number,
      is_exact: false,
      sampled_keys: number,
      memory_bytes: number,
      servers: [
        { ...server, max_memory_bytes: number, evicted_keys: number, connected_clients: 1 },
      ],
      unseen_headers: [{ dialect: text, header: text, requests: number }],
      policy_file_refused: { at: TIME, mistakes: [text] },
    },
    'GET /v1/decisions': {
      ...{ ...denial, denials: number, asked_for: text, policy_mode: 'shadow', now, override },
    },
    'POST /v1/explain': {
      steps: [{ about: text, what: text }],
      answer: { status: number, headers: [text, text], body: text },
    },
    'POST /v1/clients/block': override,
    'POST /v1/clients/exempt': override,
    'POST /v1/clients/unblock': { client: text },
    'POST /v1/clients/unexempt': { client: text },
    'POST /v1/clients/reset': { client: text, policies: [text, text] },
    'PUT /v1/policies': override,
    'DELETE /v1/policies': { policy: text },
    'PUT /v1/log': { overrides },
    'DELETE /v1/log': {},
  };
};
type Call = keyof ReturnType<typeof answersWith>;

const started = new AsyncDisposableStack();
const folder = temporaryFolder(started);
const KEYS = join(folder, 'keys.jsonl');
writeFileSync(KEYS, JSON.stringify({ id: 'acme', sha256: '0'.repeat(64) }));

/** Every command that calls a gateway, with its call and arguments. */
const CALLING: readonly (readonly [string, Call, readonly string[]])[] = [
  ['clients top', 'GET /v1/clients/top', []],
  ['clients show', 'POST /v1/clients/inspect', ['k.a']],
  ['clients block', 'POST /v1/clients/block', ['k.a', ...TERMS]],
  ['clients exempt', 'POST /v1/clients/exempt', ['k.a', ...TERMS]],
  ['clients unblock', 'POST /v1/clients/unblock', ['k.a']],
  ['clients unexempt', 'POST /v1/clients/unexempt', ['k.a']],
  ['clients reset', 'POST /v1/clients/reset', ['k.a']],
  ['policies list', 'GET /v1/policies', []],
  ['policies mode', 'PUT /v1/policies', ['login', 'off', ...TERMS]],
  ['policies restore', 'DELETE /v1/policies', ['login']],
  ['overrides', 'GET /v1/overrides', []],
  ['log set', 'PUT /v1/log', ['--level', 'warn', ...TERMS]],
  ['log restore', 'DELETE /v1/log', []],
  ['stats', 'GET /stats', []],
  // It also calls POST /v1/clients/denied.
  ['top', 'GET /v1/overview', []],
  ['explain', 'POST /v1/explain', ['--url', '/a']],
  ['explain', 'GET /v1/decisions', ['0123456789ab-1']],
  ['keys add', 'POST /v1/keys', ['--id', 'acme']],
  ['keys list', 'GET /v1/keys', []],
  ['keys show', 'GET /v1/keys', ['acme']],
  ['keys change', 'POST /v1/keys/change', ['acme', '--block']],
  ['keys rotate', 'POST /v1/keys/rotate', ['acme']],
  ['keys revoke', 'POST /v1/keys/revoke', ['acme']],
  ['keys import', 'POST /v1/keys/import', [KEYS]],
];
const WITH_JSON = ['clients top', 'policies list', 'overrides', 'stats', 'explain', 'keys list'];

let url: string;
/** The answer of the server to each call. */
let reply: (call: Call) => { status: number; body: string };

beforeAll(async () => {
  const server = createServer((request, response) => {
    const path = request.url?.replace(/\?.*$/, '') ?? '';
    const call = `${request.method} ${path.replace(/(\/v1\/(decisions|policies))\/.*/, '$1')}`;
    const { status, body } = reply(call as Call);
    request.resume().on('end', () => response.writeHead(status).end(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  started.defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => started.disposeAsync());

interface Typed {
  readonly code: number | null;
  readonly said: string;
  readonly complained: string;
}

async function headgate(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Typed> {
  const { code, stdout, stderr } = await runCommand(args, { env });
  return { code, said: stdout, complained: stderr };
}

const answering = (answers: ReturnType<typeof answersWith>) => {
  reply = (call) => ({ status: 200, body: JSON.stringify(answers[call]) });
};
const ask = ([command, , args]: (typeof CALLING)[number], output: readonly string[] = []) =>
  headgate([...command.split(' '), ...args, ...output, '--gateway', url]);
function each<T, R>(inputs: readonly T[], run: (input: T) => Promise<R>): Promise<R[]> {
  return Promise.all(inputs.map(run));
}
const lines = (text: string) => text.split('\n').length;

function expectHarmless({ said, complained }: Typed, what: string): void {
  expect(said, what).not.toMatch(CONTROLS);
  expect(complained, what).not.toMatch(CONTROLS);
}

test('the list of commands that call a gateway is complete', async () => {
  const nameOf = (command: Command): string =>
    command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
  const calling = everyCommand(await createProgram())
    .filter(({ options }) => options.some(({ long }) => long === '--gateway'))
    .map(nameOf)
    // It writes the address into a file and sends nothing.
    .filter((name) => name !== 'proxy-config');
  expect([...new Set(CALLING.map(([name]) => name))].sort()).toEqual(calling.sort());
});

describe('an answer with control characters', () => {
  test('is printed with escapes, on as many lines as a harmless answer', {
    timeout: 180_000,
  }, async () => {
    answering(answersWith('friendly'));
    const friendly = await each(CALLING, (asked) => ask(asked));
    answering(answersWith(HOSTILE));
    const hostile = await each(CALLING, (asked) => ask(asked));
    for (const [i, typed] of hostile.entries()) {
      const what = CALLING[i]?.slice(0, 2).join(', ') ?? '';
      expect(typed, what).toMatchObject({ code: 0, complained: '' });
      expectHarmless(typed, what);
      expect(lines(typed.said), what).toBe(lines(friendly[i]?.said ?? ''));
    }
    const blocked = hostile[CALLING.findIndex(([name]) => name === 'clients block')];
    expect(blocked?.said).toContain('a\\u{1b}[2J\\u{9b}2Jb\\u{d}\\u{a}c');
  });

  test('is the same JSON document with -o json', { timeout: 180_000 }, async () => {
    const answers = answersWith(HOSTILE);
    answering(answers);
    const withJson = CALLING.filter(([name]) => WITH_JSON.includes(name));
    const told = await each(withJson, (asked) => ask(asked, ['-o', 'json']));
    for (const [i, typed] of told.entries()) {
      const [name = '', call = 'GET /stats'] = withJson[i] ?? [];
      expectHarmless(typed, name);
      expect(JSON.parse(typed.said)).toEqual(answers[call]);
    }
  });

  test.each([
    ['a refusal', 400, JSON.stringify({ error: HOSTILE, message: HOSTILE })],
    [
      'a refusal whose fields are not text',
      500,
      JSON.stringify({ error: [HOSTILE], message: { HOSTILE } }),
    ],
    ['text that is not JSON', 200, HOSTILE],
    ['an error that is not JSON', 502, HOSTILE],
    ['an empty body', 200, ''],
    ['null', 200, 'null'],
    ['a JSON string', 200, JSON.stringify(HOSTILE)],
    ['an empty object', 200, '{}'],
    ['other shapes', 200, JSON.stringify({ clients: HOSTILE, gateways: null, servers: [HOSTILE] })],
  ])('%s: is refused in one line', { timeout: 180_000 }, async (_what, status, body) => {
    reply = () => ({ status, body });
    // The first prints a list, the second a sentence.
    const asked = CALLING.filter(([name]) => ['stats', 'clients block'].includes(name));
    for (const typed of await each(asked, (one) => ask(one))) {
      expectHarmless(typed, body);
      expect(typed.said).toBe('');
      expect(typed.complained).toMatch(/^headgate: .*\n$/);
      expect([1, 2]).toContain(typed.code);
    }
  });

  test('fields of other types are refused in one line', { timeout: 180_000 }, async () => {
    answering(answersWith({ toString: HOSTILE, length: HOSTILE }, HOSTILE));
    // These commands do not read the answer.
    const reading = CALLING.filter(([name]) => !name.endsWith(' restore'));
    for (const typed of await each(reading, (asked) => ask(asked))) {
      expectHarmless(typed, typed.complained);
      expect(typed).toMatchObject({ code: 1, said: '' });
      expect(typed.complained).toMatch(
        /^headgate: \S+ gave an answer that this version of headgate cannot read; .*\n$/,
      );
    }
  });
});

describe('control characters are escaped in', () => {
  test('the name and the values of a policy file', { timeout: 180_000 }, async () => {
    const path = join(folder, `${HOSTILE}.yaml`);
    writeFileSync(
      path,
      `version: 1\nidentity: { sources: [${JSON.stringify(HOSTILE)}] }\n${JSON.stringify(HOSTILE)}: 1\ndefault: { limits: [${JSON.stringify(HOSTILE)}] }\npolicies: [{ name: ${JSON.stringify(HOSTILE)}, match: { path: ${JSON.stringify(`/${HOSTILE}`)} }, limits: [1/1h] }]\n`,
    );
    const [text, json, github, served, explained, missing] = (await each(
      [
        ['check', path],
        ['check', '-o', 'json', path],
        ['check', '-o', 'github', path],
        ['serve', '--policies', path],
        ['explain', '--policies', path, '--url', '/a'],
        ['check', `${path}${HOSTILE}`],
      ],
      headgate,
    )) as [Typed, Typed, Typed, Typed, Typed, Typed];
    for (const typed of [text, json, github, served, explained, missing]) {
      expectHarmless(typed, typed.said);
      expect(typed.code).toBe(3);
    }
    const { files, errors } = JSON.parse(json.said);
    expect(errors).toBeGreaterThan(3);
    expect(files[0].file).toBe(path);
    // Below a finding are its line of the file and a caret.
    const findings = text.said.split('\n').filter((line) => !line.startsWith('    '));
    expect(findings).toHaveLength(files[0].findings.length + 2);
    expect(
      github.said.split('\n').filter((line) => !/^::(error|warning|notice) /.test(line)),
    ).toEqual(['']);
  });

  test('an explained request', { timeout: 180_000 }, async () => {
    const asked = ['explain', '--url', `/${HOSTILE}`];
    const key = ['-H', `x-api-key: ${HOSTILE.replaceAll(/[\r\n]/g, '')}`];
    const [text, json, ...refused] = (await each(
      [
        [...asked, ...key],
        [...asked, ...key, '-o', 'json'],
        [...asked, '--method', HOSTILE],
        [...asked, '--peer', HOSTILE],
        [...asked, '-H', `x-api-key: ${HOSTILE}`],
        ['explain', '--url', HOSTILE],
      ],
      headgate,
    )) as [Typed, Typed, ...Typed[]];
    expectHarmless(text, text.said);
    expect(text.code).toBe(0);
    expect(JSON.parse(json.said).steps.length).toBeGreaterThan(3);
    for (const typed of refused) {
      expectHarmless(typed, typed.complained);
      expect(typed.code).toBe(2);
    }
  });

  test('unknown commands, options and settings, and invalid addresses', {
    timeout: 180_000,
  }, async () => {
    const refused = await each(
      [
        [HOSTILE],
        [`--${HOSTILE}`],
        ['check'],
        ['clients', HOSTILE],
        ['key', 'new', '--id', HOSTILE],
        ['stats', '--gateway', HOSTILE],
        ['stats', '-o', HOSTILE],
        ['demo', '--port', HOSTILE],
      ],
      (args) => headgate(args, { HEADGATE_PORT: HOSTILE, HEADGATE_PORTS: HOSTILE }),
    );
    for (const typed of refused) {
      expectHarmless(typed, typed.complained);
      // An id may be any text.
      expect(typed.complained === '').toBe(typed.said.includes('sha256'));
    }
  });
});

test('log lines are JSON without control characters', () => {
  const written: string[] = [];
  const telemetry = createTelemetry({
    level: 'trace',
    version: '1.2.3',
    now: Date.now,
    destination: { write: (line) => void written.push(line) },
  });
  const change = { action: HOSTILE, subject: HOSTILE, change: HOSTILE, until: HOSTILE };
  telemetry.operators.acted({ ...change, client_id: HOSTILE, reason: HOSTILE, by: HOSTILE });
  telemetry.proxies.policyUnknown(HOSTILE);
  telemetry.store.connectionFailed(new Error(HOSTILE));
  telemetry.policyFile.note(HOSTILE);
  expect(written).toHaveLength(4);
  for (const line of written) {
    expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    expect(JSON.stringify(JSON.parse(line))).toContain(JSON.stringify(HOSTILE).slice(1, -1));
  }
});
