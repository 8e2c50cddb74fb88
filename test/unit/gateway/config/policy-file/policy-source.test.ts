/** Which changes of policy files are loaded, and after which time without changes. */
import { appendFileSync, linkSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError } from '../../../../../src/gateway/config/diagnostic.ts';
import { openPolicySource } from '../../../../../src/gateway/config/policy-file/policy-source.ts';
import { SHIPPED_RANGES } from '../../../../../src/gateway/config/shipped-files.ts';

let folder: string;
let policies: string;
let keys: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-source-'));
  policies = join(folder, 'policies.yaml');
  keys = join(folder, 'keys.yaml');
});
afterEach(() => rmSync(folder, { recursive: true }));

const HEAD = 'version: 1\ndefault: { limits: [1000/1h] }\npolicies:\n';
const policy = (name: string) => `- { name: ${name}, match: { path: /${name} }, limits: [1/1h] }\n`;
const fileOf = (...names: string[]) => HEAD + names.map(policy).join('');

function open(text: string) {
  writeFileSync(policies, text);
  return openPolicySource({ policies, cloudflareRanges: SHIPPED_RANGES });
}

let replaced = 0;
/** Renames a finished file over the old one. Keeps a link to the old one, so that no later file has its inode. */
function replace(text: string, path = policies): void {
  linkSync(path, `${path}.${replaced++}`);
  writeFileSync(`${path}.next`, text);
  renameSync(`${path}.next`, path);
}

const namesIn = ({ current }: ReturnType<typeof open>) => current.policies.map(({ name }) => name);

test('nothing is pending while the files are the same', () => {
  expect(open(fileOf('a')).pending()).toBeUndefined();
});

test('the policy file and the files that it names are watched', () => {
  writeFileSync(keys, '[]\n');
  const source = open(`${fileOf('a')}identity: { api_key: { keys: keys.yaml } }\n`);
  expect([...source.files].sort()).toEqual([SHIPPED_RANGES, keys, policies].sort());
});

test('a file that was replaced is read after 50 ms', async () => {
  const source = open(fileOf('a'));
  replace(fileOf('a', 'b'));
  expect(source.pending()?.settledAfterMs).toBe(50);
  expect(await source.reload(50)).toEqual({ removed: [] });
  expect(namesIn(source)).toEqual(['a', 'b', 'default']);
  expect(source.pending()).toBeUndefined();
});

test('a file that was written in place is read after 2 s', () => {
  const source = open(fileOf('a'));
  appendFileSync(policies, policy('b'));
  expect(source.pending()?.settledAfterMs).toBe(2_000);
});

test.each([
  ['replaced', replace, 50, 2_000],
  ['written in place', (text: string) => writeFileSync(policies, text), 2_000, 5_000],
])('a file that removes policies, and was %s, needs longer', async (_, write, firstMs, thenMs) => {
  const source = open(fileOf('a', 'b'));
  // Not shorter: only the policy is missing.
  write(`${fileOf('b')}${'#'.repeat(200)}\n`);
  expect(source.pending()?.settledAfterMs).toBe(firstMs);
  expect(await source.reload(firstMs)).toBeUndefined();
  expect(namesIn(source)).toEqual(['a', 'b', 'default']);
  expect(source.pending()?.settledAfterMs).toBe(thenMs);
  expect(await source.reload(thenMs - 1)).toBeUndefined();
  expect(await source.reload(thenMs)).toEqual({ removed: ['a'] });
  expect(namesIn(source)).toEqual(['b', 'default']);
});

test('a file that became shorter needs longer, even with all its policies', async () => {
  const source = open(`${fileOf('a')}# a comment\n`);
  replace(fileOf('a'));
  expect(await source.reload(50)).toBeUndefined();
  expect(await source.reload(2_000)).toEqual({ removed: [] });
});

test('sizes are compared with those of the files in force', async () => {
  const source = open(fileOf('a', 'b'));
  replace(`${fileOf('a', 'b')}# ${'x'.repeat(100)}\n`);
  expect(await source.reload(50)).toEqual({ removed: [] });
  replace(`${fileOf('a', 'b')}# ${'x'.repeat(50)}\n`);
  expect(await source.reload(50)).toBeUndefined();
});

test('a change to a file that needs longer starts its time again', async () => {
  const source = open(fileOf('a', 'b'));
  replace(fileOf('a'));
  await source.reload(50);
  expect(source.pending()?.settledAfterMs).toBe(2_000);
  replace(fileOf('a', 'b', 'c'));
  expect(source.pending()?.settledAfterMs).toBe(50);
});

test('a new key file is part of a file that needs longer', async () => {
  const source = open(fileOf('a', 'b'));
  writeFileSync(keys, '[]\n');
  replace(`${fileOf('a')}identity: { api_key: { keys: keys.yaml } }\n`);
  await source.reload(50);
  const before = source.pending()?.state;
  replace('[ ]\n', keys);
  expect(source.pending()?.state).not.toBe(before);
});

test('a file that changes while it is read is not loaded', async () => {
  const source = open(fileOf('a'));
  replace(fileOf('a', 'b'));
  // It has read the file, and goes on in the next turn.
  const reloading = source.reload(50);
  replace(fileOf('a', 'b', 'c'));
  expect(await reloading).toBeUndefined();
  expect(namesIn(source)).toEqual(['a', 'default']);
  expect(source.history.refused).toBeUndefined();
  expect(source.pending()?.settledAfterMs).toBe(50);
  expect(await source.reload(50)).toEqual({ removed: [] });
  expect(namesIn(source)).toEqual(['a', 'b', 'c', 'default']);
});

test('without a time, the files are loaded as they are', async () => {
  const source = open(fileOf('a', 'b'));
  writeFileSync(policies, fileOf('b'));
  expect(await source.reload()).toEqual({ removed: ['a'] });
});

describe('a file with mistakes', () => {
  test('keeps the policies in force, and is not read again before it changes', async () => {
    const source = open(fileOf('a'));
    const { digest } = source;
    replace(`${fileOf('a', 'b')}- nonsense\n`);
    await expect(source.reload(50)).rejects.toThrow(ConfigError);
    expect(namesIn(source)).toEqual(['a', 'default']);
    expect(source.digest).toBe(digest);
    expect(source.pending()).toBeUndefined();
    replace(fileOf('a', 'b', 'c'));
    expect(source.pending()).toBeDefined();
    expect(await source.reload(50)).toEqual({ removed: [] });
  });
  test('that is removed keeps the policies in force', async () => {
    const source = open(fileOf('a'));
    rmSync(policies);
    await expect(source.reload()).rejects.toThrow('does not exist');
    expect(namesIn(source)).toEqual(['a', 'default']);
  });
  test('is refused when the gateway starts', () => {
    expect(() => open('version: 2\n')).toThrow(ConfigError);
  });
});

test('the notes of a file are lines with their places', () => {
  const counter = '{ rate: 50/1min, algorithm: sliding-window-counter }';
  const source = open(`version: 1\ndefault: { limits: [${counter}] }\n`);
  expect(source.notes).toEqual([
    expect.stringMatching(/policies\.yaml:2:21: default\.limits\[0\]: sliding-window-counter is/),
  ]);
});

test('the digest depends on the text of each file, and on where one ends', () => {
  writeFileSync(keys, '[]\n');
  const text = `${fileOf('a')}identity: { api_key: { keys: keys.yaml } }\n`;
  const first = open(text).digest;
  expect(first).toMatch(/^[0-9a-f]{12}$/);
  expect(open(text).digest).toBe(first);
  writeFileSync(keys, '[]\n\n');
  expect(open(text).digest).not.toBe(first);
  // The same bytes, divided in another way.
  writeFileSync(keys, '\n[]\n');
  const moved = open(text).digest;
  writeFileSync(keys, '[]\n');
  expect(open(`${text}\n`).digest).not.toBe(moved);
});

test('what was refused is remembered until a reload succeeds, and since when the files apply', async () => {
  const source = open(fileOf('a'));
  const { sinceMs } = source.history;
  expect(Math.abs(Date.now() - sinceMs)).toBeLessThan(60_000);
  expect(source.history.refused).toBeUndefined();
  replace('version: 2\n');
  await expect(source.reload()).rejects.toThrow();
  expect(source.history.refused?.mistakes.join()).toContain('version');
  expect(source.history.sinceMs).toBe(sinceMs);
  replace(fileOf('a'));
  await source.reload();
  expect(source.history).toMatchObject({ refused: undefined, sinceMs });
  await new Promise((resolve) => setTimeout(resolve, 2));
  replace(fileOf('a', 'b'));
  await source.reload();
  expect(source.history.sinceMs).toBeGreaterThan(sinceMs);
});
