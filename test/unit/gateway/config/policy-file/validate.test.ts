import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  lineOf as loggedLineOf,
  RULES,
} from '../../../../../src/gateway/config/diagnostic.ts';
import { policyFileJsonSchema } from '../../../../../src/gateway/config/policy-file/policy-file-schema.ts';
import { validatePolicyFile } from '../../../../../src/gateway/config/policy-file/validate.ts';
import { policyFileContext, policySetFrom } from '../../../../support/policies.ts';
import { AT_NOON, checkRequest } from '../../../../support/requests.ts';
import { diagnosticsIn, lineOf } from '../../../cli/check/advice/diagnostics-in.ts';

const FIXTURES = new URL('../../../../fixtures/policies/', import.meta.url);
const CONFIG = new URL('../../../../../config/', import.meta.url);

/** The lines that loading reports. */
function mistakesIn(text: string): readonly string[] {
  try {
    validatePolicyFile(text, 'policies.yaml', policyFileContext());
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}

describe('each diagnostic has its rule and its place:', () => {
  const names = readdirSync(FIXTURES).filter((name) => name.endsWith('.yaml'));
  const read = (name: string) => readFileSync(new URL(name, FIXTURES), 'utf8');
  test.each(names)('%s', (name) => {
    const found = diagnosticsIn(read(name), name).map(lineOf);
    expect(`${found.join('\n')}\n`).toBe(read(name.replace('.yaml', '.txt')));
  });
  test('each rule about the text of a file has a fixture', () => {
    const found = names.flatMap((name) => diagnosticsIn(read(name)).map(({ rule }) => rule));
    const elsewhere = [
      'unreadable-file',
      'invalid-cloudflare-list',
      'cloudflare-list-old',
      'shipped-cloudflare-list-old',
      'policies-not-tried',
      'settle-token',
    ];
    // test/unit/gateway/ratelimit/rules/diagnostics.test.ts has those of rate limit files.
    const rules = Object.keys(RULES).filter((rule) => !rule.startsWith('ratelimit-'));
    expect(new Set([...found, ...elsewhere])).toEqual(new Set(rules));
  });
});

test('loading reports mistakes without their rule, and marks warnings', () => {
  expect(mistakesIn('version: 1\ndefault: { limits: [5/5m] }\n')).toEqual([
    'policies.yaml:2:21: default.limits[0]: "5/5m" is not a rate, write "5/5min"',
  ]);
  const counter = '{ rate: 5/1min, algorithm: sliding-window-counter }';
  const text = `version: 1\ndefault: { limits: [${counter}] }\n`;
  const { notes, place } = validatePolicyFile(text, 'policies.yaml', policyFileContext());
  expect(place(notes).map(loggedLineOf)).toEqual([
    expect.stringMatching(
      /^policies\.yaml:2:21: default\.limits\[0\]: warning: sliding-window-counter is too inexact/,
    ),
  ]);
});

describe('refuses a hostile file before it is parsed:', () => {
  test('too large', () => {
    expect(mistakesIn(`# ${'x'.repeat(1024 * 1024)}`)).toEqual([
      'policies.yaml:1:1: the file has 1048578 bytes, the maximum is 1048576',
    ]);
  });
  test.each([
    ['brackets', '['.repeat(2_000)],
    ['maps', '{ a: '.repeat(2_000)],
    ['list markers', '- '.repeat(2_000)],
    ['key markers', '? '.repeat(2_000)],
    ['indentation', Array.from({ length: 70 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
    ['list indentation', Array.from({ length: 70 }, (_, i) => `${' '.repeat(i)}-`).join('\n')],
  ])('nested too deep by %s, three times in a row', (_, text) => {
    for (let i = 0; i < 3; i++) {
      expect(mistakesIn(text)).toEqual([
        'policies.yaml:1:1: the file is nested deeper than 64 levels',
      ]);
    }
  });
  test('an alias bomb', () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`,
    );
    const text = `version: 1\na0: &a0 [x]\n${levels.join('\n')}\n`;
    expect(mistakesIn(text).length).toBeGreaterThan(0);
  });
  test('but not one with a byte order mark', () => {
    expect(mistakesIn('\uFEFFversion: 1\ndefault: { limits: [1/1s] }\n')).toEqual([]);
  });
});

const SHIPPED = readFileSync(new URL('policies.yaml', CONFIG), 'utf8');

/** The shipped file with some characters replaced. */
const damaged = fc
  .array(
    fc.tuple(
      fc.integer({ min: 0, max: SHIPPED.length }),
      fc.integer({ min: 0, max: 12 }),
      fc.oneof(
        fc.constantFrom(
          '',
          '\n',
          ': ',
          '- ',
          '[',
          ']',
          '{',
          '}',
          '&a ',
          '*a',
          '!t ',
          '"',
          "'",
          '|',
          '>',
          '#',
          '%',
          '\t',
          '~',
          '<<',
        ),
        fc.constantFrom(
          'null',
          '.inf',
          '-1',
          '1e400',
          '0x1',
          '__proto__',
          'constructor',
          '\0',
          '\uFEFF',
        ),
        fc.string({ maxLength: 4 }),
      ),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((edits) =>
    edits.reduce(
      (text, [at, length, insert]) => text.slice(0, at) + insert + text.slice(at + length),
      SHIPPED,
    ),
  );

test('a damaged file is either valid or refused with places', () => {
  fc.assert(
    fc.property(damaged, (text) => {
      for (const mistake of mistakesIn(text)) expect(mistake).toMatch(/^policies\.yaml:\d+:\d+: ./);
    }),
    { numRuns: 500 },
  );
});

test('the shipped policy file is valid', () => {
  expect(mistakesIn(SHIPPED)).toEqual([]);
});

test('the shipped JSON Schema is up to date (else: npm start -s -- schema > config/policies.schema.json)', () => {
  const shipped = readFileSync(new URL('policies.schema.json', CONFIG), 'utf8');
  expect(shipped).toBe(policyFileJsonSchema());
});

test('a rate without per is per client', () => {
  const { policies } = policySetFrom(
    '{ version: 1, default: { limits: [5/5min, { rate: 9/1h, per: ip }] } }',
  );
  expect(policies[0]?.limits).toMatchObject([
    { quota: { limit: 5, windowMs: 300_000 }, per: 'client', label: 'default', cost: 1 },
    { quota: { limit: 9, windowMs: 3_600_000 }, per: 'ip', label: 'default:ip:1h' },
  ]);
});

test('on_store_failure of a policy wins over that of the file', () => {
  const modes = (text: string) => policySetFrom(text).policies.map((each) => each.onStoreFailure);
  const policies =
    'policies: [{ name: a, always: true, limits: [1/1s] }, { name: b, always: true, limits: [1/1s], on_store_failure: allow }]';
  const rest = `default: { limits: [1/1s] }, ${policies} }`;
  expect(modes(`{ version: 1, ${rest}`)).toEqual(['allow', 'allow', 'allow']);
  expect(modes(`{ version: 1, on_store_failure: local, ${rest}`)).toEqual([
    'local',
    'allow',
    'local',
  ]);
});

test('identifies a listed key by its digest', () => {
  const sha256 = 'f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7'; // hunter2
  const { identify } = policySetFrom(
    `{ version: 1, identity: { api_key: { keys: [{ id: alice, sha256: ${sha256} }] } }, default: { limits: [5/5min] } }`,
  );
  const request = checkRequest({ headers: { 'x-api-key': 'hunter2' } });
  expect(identify(request, AT_NOON)).toMatchObject({
    kind: 'api_key',
    apiKey: { unverified: false },
  });
});

test('cloudflare stands for the listed ranges', () => {
  const { identify } = policySetFrom(
    '{ version: 1, identity: { trusted_proxies: [cloudflare] }, default: { limits: [5/5min] } }',
  );
  expect(identify(checkRequest({ proxy: '173.245.48.5' }), AT_NOON).untrustedProxy).toBe(false);
  expect(identify(checkRequest({ proxy: '127.0.0.1' }), AT_NOON).untrustedProxy).toBe(true);
});
