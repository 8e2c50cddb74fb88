/** Which files the command examines, and its exit code. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { checkCommand } from '../../../../src/cli/check/check-command.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

const GOOD = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [100/1min] }
`;
/** No request has this method. */
const WARNED = `${GOOD}policies: [{ name: p, match: { method: NEVER, path: /p }, limits: [5/1min] }]\n`;
const WRONG = GOOD.replace('100/1min', 'many');

async function check(text: string, flags: readonly string[] = [], isServed = false) {
  using stack = new DisposableStack();
  const file = join(temporaryFolder(stack), 'policies.yaml');
  writeFileSync(file, text);
  if (isServed) vi.stubEnv('HEADGATE_POLICIES', file);
  const out: string[] = [];
  const complaints: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => out.push(line));
  vi.spyOn(console, 'error').mockImplementation((line: string) => complaints.push(line));
  process.exitCode = undefined;
  await checkCommand().parseAsync([...flags, ...(isServed ? [] : [file])], { from: 'user' });
  return { out: out.join('\n'), complaints, code: process.exitCode ?? 0 };
}

test.each([
  ['a good file', GOOD, [], 0, []],
  ['a mistake', WRONG, [], 3, []],
  ['a warning', WARNED, [], 0, []],
  ['a good file, strictly', GOOD, ['--strict'], 0, []],
  ['a mistake, strictly', WRONG, ['--strict'], 3, []],
  [
    'a warning, strictly',
    WARNED,
    ['--strict'],
    3,
    ['headgate: --strict: 1 warning treated as errors'],
  ],
])('%s', async (_, text, flags, code, complaints) => {
  for (const isServed of [false, true]) {
    const found = await check(text, flags, isServed);
    expect({ code: found.code, complaints: found.complaints }).toEqual({ code, complaints });
    expect(found.out).toContain('policies.yaml');
  }
});

test('two warnings are two', async () => {
  const two = `${GOOD}policies:\n${['p', 'q']
    .map(
      (name) =>
        `  - { name: ${name}, match: { method: NEVER, path: /${name} }, limits: [5/1min] }\n`,
    )
    .join('')}`;
  expect((await check(two, ['--strict'])).complaints).toEqual([
    'headgate: --strict: 2 warnings treated as errors',
  ]);
});

test('the list of rules is printed in place of an examination', async () => {
  const { out, code } = await check(WRONG, ['--rules']);
  expect(out).toMatch(/^# /);
  expect(out).not.toContain('policies.yaml:');
  expect(code).toBe(0);
});
