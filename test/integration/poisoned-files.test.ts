/**
 * Hostile policy and key files are refused with the place of each mistake. Most are read in this process; a running
 * gateway reads one or two of each kind, and continues with the files in force.
 */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readPolicies } from '../../src/gateway/config/policy-file/read.ts';
import { SHIPPED_RANGES } from '../../src/gateway/config/shipped-files.ts';
import { type LogEvent, strayLines } from '../scenarios/hostile/run.ts';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway.ts';
import { call } from '../support/http.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-poisoned-'));
const POLICIES = join(folder, 'policies.yaml');
const KEYS = join(folder, 'keys.yaml');
const KEY = 'listed';
const PATHS = { policies: POLICIES, cloudflareRanges: SHIPPED_RANGES };

/** Number of the valid files. Each has its own policy name and limit. */
let generation = 0;

function goodPolicies(): string {
  return `
version: 1
identity: { api_key: { keys: keys.yaml } }
default: { limits: [100000/1h] }
policies:
  - name: good-${generation}
    match: { path: /ask }
    limits: [100000/1h]
    plans: { gold: [${500_000 + generation}/1h] }
`;
}

function goodKeys(): string {
  return `- { id: a, sha256: ${hash('sha256', KEY)}, plan: gold }\n`;
}

/** Replaces the file or folder. */
function put(path: string, content: string | Buffer): void {
  remove(path);
  writeFileSync(path, content);
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

/** Each test begins with new valid files. */
function putGoodFiles(): void {
  generation++;
  put(POLICIES, goodPolicies());
  put(KEYS, goodKeys());
}

const PLACED = /^:[1-9]\d*:[1-9]\d*: ./;
const UNREADABLE = /^: (does not exist; |cannot be read: )./;

/** Expects mistakes only in the file `path`. `place` matches what follows its name. */
function expectMistakes(mistakes: readonly string[], path: string, place: RegExp): void {
  expect(mistakes.length).toBeGreaterThan(0);
  const others = mistakes.filter(
    (mistake) => !mistake.startsWith(path) || !place.test(mistake.slice(path.length)),
  );
  expect(others).toEqual([]);
}

/** Reads the files as a gateway does, but in this process. */
function expectRefused(path: string, place: RegExp): void {
  const { found } = readPolicies(PATHS);
  expectMistakes('mistakes' in found ? found.mistakes : [], path, place);
}

function expectValid(): void {
  const { found } = readPolicies(PATHS);
  expect(found).toMatchObject({ file: { entries: [{ name: `good-${generation}` }] } });
}

beforeEach(putGoodFiles);
afterAll(() => rmSync(folder, { recursive: true }));

function lines(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join('\n');
}

const MIB = 1024 * 1024;
const DEEP = 2_000;

/** Each level contains the level below nine times. */
const BOMB = `a0: &a0 [x]\n${lines(12, (i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`)}\n`;

/** Contents that must be refused. */
const HOSTILE_CONTENTS: Readonly<Record<string, string | Buffer>> = {
  'an alias bomb': BOMB,
  'an alias bomb of merge keys': BOMB.replace(/\[(\*a\d+),.*\]/g, '{ <<: [$1, $1] }'),
  'an anchor that contains itself': '&a [*a]\n',
  'a map that contains itself': '&a { b: *a }\n',
  'anchors that contain each other': 'a: &a { b: &b { c: *a } }\nd: *b\n',
  'aliases without an anchor': `[${'*a, '.repeat(500)}]`,
  'two thousand aliases of one anchor': `[&a 1, ${'*a, '.repeat(2_000)}]`,
  'two thousand keys of one name': lines(2_000, () => 'version: 1'),
  'two thousand unknown keys': lines(2_000, (i) => `key-${i}: 1`),
  'keys that every object has': '{ __proto__: { a: 1 }, constructor: { prototype: { a: 1 } } }',
  'lists nested by brackets': '['.repeat(DEEP),
  'lists nested by brackets that close': '['.repeat(DEEP) + ']'.repeat(DEEP),
  'nested maps': '{ a: '.repeat(DEEP),
  'lists nested by markers': '- '.repeat(DEEP),
  'keys nested by markers': '? '.repeat(DEEP),
  'maps nested by indentation': lines(DEEP, (i) => `${' '.repeat(i)}a:`).slice(0, MIB),
  'lists nested by indentation': lines(DEEP / 2, (i) => `${' '.repeat(i)}-`),
  'a tag for code': '!!js/function "function () {}"',
  'a thousand tags, and no end of the list': `[${'!t 1, '.repeat(1_000)}]`,
  'another version of YAML': '%YAML 1.1\n---\nyes: no\n',
  'several documents': 'version: 1\n---\nversion: 1\n---\nversion: 1\n',
  'only a comment': '# nothing\n',
  nothing: '',
  'blank lines': ' \n\t\n',
  'an open quote': `"${'a\n'.repeat(10_000)}`,
  'only zeros': Buffer.alloc(4_096),
  'every byte': Buffer.from(Array.from({ length: 4_096 }, (_, i) => i & 255)),
  'bytes that are not UTF-8': Buffer.from('version: \xff\xfe\xc0\xaf\n', 'latin1'),
  'another encoding': Buffer.from('\ufeffversion: 1\n', 'utf16le'),
  'an archive': Buffer.from(
    '\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x04\0\x43\xbe\xb7\xe8\x01\0\0\0',
    'latin1',
  ),
  'control characters': '"\u001b]0;title\u0007\u001b[31mred\u009b2J\r\n": 1\n',
  'escaped control characters': '"\\e]0;title\\a\\e[31mred\\N\\L\\P\\r\\n": 1\n',
  'characters that turn text around': '"\u202efdp\u202c\u2066": 1\n',
  'a number': '1e999',
  'a comma': ',',
};

/** What replaces the file. */
const NOT_A_FILE: Readonly<Record<string, (path: string) => void>> = {
  'is deleted': () => {},
  'is a directory': (path) => void mkdirSync(path),
  'is a link to a missing file': (path) => symlinkSync(join(folder, 'nothing'), path),
  'is a link to itself': (path) => symlinkSync(path, path),
  'is a link to a directory': (path) => symlinkSync(folder, path),
  'is a link to a device without end': (path) => symlinkSync('/dev/zero', path),
  'is a pipe without a writer': (path) => void execFileSync('mkfifo', [path]),
};

const FILES: readonly (readonly [string, string, number])[] = [
  ['the policy file', POLICIES, MIB],
  ['the key file', KEYS, 8 * MIB],
];

describe.each(FILES)('%s is refused if', (_, path, maxBytes) => {
  test.each(Object.entries(HOSTILE_CONTENTS))('it holds %s', (_, content) => {
    put(path, content);
    expectRefused(path, PLACED);
  });
  test('it is one byte too long', () => {
    put(path, `#${'x'.repeat(maxBytes)}`);
    expectRefused(path, PLACED);
  });
  test('it is hundreds of times too long', () => {
    put(path, '');
    truncateSync(path, 400 * MIB);
    expectRefused(path, PLACED);
  });
  test.each(Object.entries(NOT_A_FILE))('it %s', (_, replace) => {
    remove(path);
    replace(path);
    expectRefused(path, UNREADABLE);
  });
});

function fileOf(count: number, policy: (i: number) => string): string {
  return `version: 1\ndefault: { limits: [1/1s] }\npolicies:\n${lines(count, policy)}`;
}

function withControlCharacters(i: number): string {
  return `- { name: "a\\e[31m\\r\\n${i}", match: { path: /${i} }, limits: [1/1s] }`;
}

describe('the policy file is refused if it has', () => {
  const WORDS = ['__proto__', 'constructor', 'prototype'];
  const LEVELS: Readonly<Record<string, (word: string) => string>> = {
    'the file': (word) => `${word}: { version: 1 }`,
    identity: (word) => `identity: { ${word}: { sources: [ip] } }`,
    'identity.sources': (word) =>
      `identity: { sources: [{ header: x, from: proxy, ${word}: {} }, ip] }`,
    'identity.api_key': (word) => `identity: { api_key: { ${word}: { header: x } } }`,
    'identity.api_key.keys': (word) =>
      `identity: { api_key: { keys: [{ id: a, sha256: ${hash('sha256', 'a')}, ${word}: {} }] } }`,
    'identity.user': (word) => `identity: { user: { ${word}: { header: x } } }`,
    'identity.ip': (word) => `identity: { ip: { ${word}: { ipv6_prefix: 64 } } }`,
    'identity.ip.ipv6_prefixes': (word) =>
      `identity: { ip: { ipv6_prefixes: { 64: 1x, ${word}: 2x } } }`,
    default: (word) => `default: { limits: [1/1s], ${word}: { cost: 1 } }`,
    'default.plans': (word) => `default: { limits: [1/1s], plans: { ${word}: junk } }`,
    'policies.plans': (word) =>
      `policies: [{ name: a, match: { path: /a }, limits: [1/1s], plans: { ${word}: junk } }]`,
    matching: (word) => `matching: { ${word}: { case_sensitive: true } }`,
    answers: (word) => `answers: { ${word}: { body: json } }`,
    exempt: (word) => `exempt: [{ address: 10.0.0.1, ${word}: {} }]`,
    block: (word) => `block: [{ address: 10.0.0.1, ${word}: {} }]`,
    policies: (word) => `policies: [{ name: a, match: { path: /a }, limits: [1/1s], ${word}: {} }]`,
    'policies.match': (word) =>
      `policies: [{ name: a, match: { path: /a, ${word}: {} }, limits: [1/1s] }]`,
    'policies.limits': (word) =>
      `policies: [{ name: a, match: { path: /a }, limits: [{ rate: 1/1s, ${word}: {} }] }]`,
    'a word for a value': (word) =>
      `policies: [{ name: a, match: { path: /a }, limits: [1/1s], on_store_failure: ${word} }]`,
    'a word for a share': (word) =>
      `policies: [{ name: a, match: { path: /a }, limits: [{ rate: 1/1s, per: ${word} }] }]`,
  };
  test.each(Object.entries(LEVELS))('a key that every object has, in %s', (_, level) => {
    for (const word of WORDS) {
      const text = level(word);
      const fallback = text.startsWith('default') ? '' : 'default: { limits: [1/1s] }\n';
      put(POLICIES, `version: 1\n${fallback}${text}\n`);
      expectRefused(POLICIES, PLACED);
    }
  });

  test.each([
    [2_000, 'of one name', (i: number) => `- { name: a, match: { path: /${i} }, limits: [1/1s] }`],
    [
      1_000,
      'for one path',
      (i: number) => `- { name: a${i}, match: { path: /a }, limits: [1/1s] }`,
    ],
    [1_000, 'with an unknown key', (i: number) => `- { nam: a${i} }`],
    [1_000, 'whose names hold control characters', withControlCharacters],
  ])('%i policies %s', (count, _, policy) => {
    put(POLICIES, fileOf(count, policy));
    expectRefused(POLICIES, PLACED);
  });
});

describe('the key file is refused if it has', () => {
  const digest = hash('sha256', 'a');
  test.each([
    ['two thousand entries for one key', lines(2_000, (i) => `- { id: a${i}, sha256: ${digest} }`)],
    ['a key in place of its digest', '- { id: a, sha256: "\\e[31mkey\\r\\n" }'],
    ['a map of keys', `a: ${digest}`],
    ['an entry with a key that every object has', `- { id: a, sha256: ${digest}, __proto__: {} }`],
    ['digests of another length', lines(1_000, (i) => `- { id: a, sha256: ${digest}${i} }`)],
  ])('%s', (_, text) => {
    put(KEYS, text);
    expectRefused(KEYS, PLACED);
  });
});

/** Valid files that look unusual. */
const DISGUISES: Readonly<Record<string, (text: string) => string>> = {
  'a byte order mark': (text) => `\ufeff${text}`,
  'Windows line ends': (text) => text.replaceAll('\n', '\r\n'),
  'the directive %YAML 1.2': (text) => `%YAML 1.2\n---\n${text}`,
  'the maximum number of bytes': (text) => `${text}#${'x'.repeat(MIB - text.length - 1)}`,
};

describe('the files are valid with', () => {
  test.each(Object.entries(DISGUISES))('%s', (_, disguise) => {
    put(POLICIES, disguise(goodPolicies()));
    put(KEYS, disguise(goodKeys()));
    expectValid();
  });
  test('a key id with control characters', () => {
    put(KEYS, `${goodKeys()}- { id: "\\e[31m\\r\\n", sha256: ${hash('sha256', 'another')} }`);
    expectValid();
  });
});

describe('a running gateway', () => {
  let gateway: GatewayProcess;
  /** Length of the output that was read. */
  let readTo = 0;

  async function reload(): Promise<LogEvent> {
    readTo = gateway.output().length;
    gateway.signal('SIGHUP');
    return (await eventually(
      async () => nextReload(),
      (event) => event !== undefined,
      60_000,
      'a reload',
    )) as LogEvent;
  }

  function nextReload(): LogEvent | undefined {
    const output = gateway.output();
    const end = output.lastIndexOf('\n') + 1;
    const lines = output.slice(readTo, end).split('\n');
    readTo = Math.max(readTo, end);
    const events = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LogEvent);
    return events.find(({ event }) => event === 'policies_loaded' || event === 'policies_refused');
  }

  /** Expects that the policy and the key of the valid files are in force. */
  async function expectInForce(): Promise<void> {
    const { headers } = await call(gateway.url, '/envoy/ask', { headers: { 'x-api-key': KEY } });
    expect(headers.ratelimit).toMatch(`"good-${generation}"`);
    expect(headers['x-ratelimit-limit']).toBe(String(500_000 + generation));
  }

  async function expectLoaded(): Promise<void> {
    expect((await reload()).event).toBe('policies_loaded');
    await expectInForce();
  }

  async function expectKept(path: string, place: RegExp): Promise<void> {
    const { event, mistakes = [] } = await reload();
    expect(event).toBe('policies_refused');
    expectMistakes(mistakes, path, place);
    await expectInForce();
  }

  beforeAll(async () => {
    putGoodFiles();
    gateway = await startGatewayProcess({ HEADGATE_POLICIES: POLICIES });
  });
  beforeEach(expectLoaded);
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    expect(strayLines(gateway.output())).toEqual([]);
  });

  /** Of each kind. The largest are read in a thread. */
  const KINDS = [
    ...['an alias bomb', 'an anchor that contains itself', 'two thousand aliases of one anchor'],
    ...[
      'lists nested by markers',
      'every byte',
      'another encoding',
      'escaped control characters',
      'nothing',
    ],
  ];

  describe.each(FILES)('keeps the files in force if %s', (_, path, maxBytes) => {
    test.each(KINDS)('holds %s', async (kind) => {
      put(path, HOSTILE_CONTENTS[kind] ?? '');
      await expectKept(path, PLACED);
      // A refused file leaves nothing behind.
      await expectKept(path, PLACED);
    });
    test('is one byte too long', async () => {
      put(path, `#${'x'.repeat(maxBytes)}`);
      await expectKept(path, PLACED);
    });
    test.each(Object.entries(NOT_A_FILE))('%s', async (_, replace) => {
      remove(path);
      replace(path);
      await expectKept(path, UNREADABLE);
    });
    test('is a link that changes from a good file to a bad one and back', async () => {
      const good = path === POLICIES ? goodPolicies : goodKeys;
      for (let time = 0; time < 2; time++) {
        generation++;
        put(join(folder, 'good'), good());
        put(join(folder, 'bad'), '- [\n');
        if (path === KEYS) put(POLICIES, goodPolicies());
        link('good', path);
        await expectLoaded();
        link('bad', path);
        await expectKept(path, PLACED);
      }
    });
  });

  test('keeps the files in force if its policies have control characters in their names', async () => {
    put(POLICIES, fileOf(10, withControlCharacters));
    await expectKept(POLICIES, PLACED);
  });

  test.each(Object.entries(DISGUISES))('loads files with %s', async (_, disguise) => {
    generation++;
    put(POLICIES, disguise(goodPolicies()));
    put(KEYS, disguise(goodKeys()));
    await expectLoaded();
  });
});

function link(name: string, path: string): void {
  remove(path);
  symlinkSync(join(folder, name), path);
}
