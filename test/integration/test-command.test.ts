/** `headgate test`: which files it finds, its outputs, its exit codes, and `headgate schema tests`. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { POLICIES, testFile } from '../support/policy-tests.ts';

const CONFIG = fileURLToPath(new URL('../../config', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

for (const each of ['good', 'failing', 'broken', 'none']) {
  mkdirSync(join(folder, each));
  writeFileSync(join(folder, each, 'policies.yaml'), POLICIES);
}
const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const LOGINS = '{ client: alice, send: POST /login, times: 3, expect: { policy: login } }';
write('good/a_test.yaml', testFile([LOGINS]));
write('good/b_test.yml', testFile([LOGINS]).replace('a test', 'another test'));
write('good/c_tests.yaml', 'not found');
write('failing/a_test.yaml', testFile([LOGINS.replace('policy: login', 'verdict: allow')]));
write('broken/a_test.yaml', testFile(['{ store: dwn }']));
write('broken/b_test.yaml', 'polices: x');

/** Runs it in the folder of the files. */
const run = (...args: string[]) => runCommand(['test', ...args], { cwd: folder });

test('tests of a folder that pass', async () => {
  expect(await run('good')).toEqual({
    code: 0,
    stdout: [
      'good/a_test.yaml',
      '  ok    a test',
      'good/b_test.yml',
      '  ok    another test',
      '2 tests: 2 passed, 0 failed, 0 skipped; 6 requests',
      '',
    ].join('\n'),
    stderr: '',
  });
});

test('a test that fails', async () => {
  const { code, stdout, stderr } = await run('failing', 'good');
  expect(code).toBe(1);
  expect(stderr).toBe('');
  expect(stdout).toContain(`failing/a_test.yaml
  FAIL  a test
        failing/a_test.yaml:8:9: POST /login by alice at 0s, request 3 of 3
                   expected  actual
          verdict  allow     deny
          proxy     127.0.0.1 is a trusted proxy`);
  expect(stdout).toContain('login: 0 of 2 remain; next request allowed in 60 s');
  expect(stdout).toMatch(/\n3 tests: 2 passed, 1 failed, 0 skipped; 9 requests\n$/);
});

test('mistakes of all files, with their lines; nothing is run', async () => {
  expect(await run('broken', 'good')).toEqual({
    code: 3,
    stdout: '',
    stderr: `broken/a_test.yaml:8:18: error invalid-value: tests[0].steps[0].store: must be down or up, not "dwn", did you mean "down"?
          - { store: dwn }
                     ^
broken/b_test.yaml:1:1: error unknown-key: polices: is not a known key, did you mean "policies"?
    polices: x
    ^
broken/b_test.yaml:1:1: error missing-key: clients: is missing, it must be a map
broken/b_test.yaml:1:1: error missing-key: policies: is missing, it must be text
broken/b_test.yaml:1:1: error missing-key: tests: is missing, it must be a list
headgate: 5 mistakes, no test was run
`,
  });
});

test('mistakes as JSON', async () => {
  const { code, stdout, stderr } = await run('broken', '-o', 'json');
  expect(code).toBe(3);
  expect(stderr).toBe('headgate: 5 mistakes, no test was run\n');
  expect(JSON.parse(stdout)).toMatchObject({
    files: [],
    tests: 0,
    mistakes: [
      { rule: 'invalid-value', file: 'broken/a_test.yaml', line: 8, column: 18 },
      {},
      {},
      {},
      {},
    ],
  });
});

describe('nothing to run is an error', () => {
  test.each([
    [['none'], 'error: no test file in none: none is called *_test.yaml or *_test.yml\n'],
    [['nowhere'], 'error: nowhere does not exist\n'],
    [['good', '--run', 'nothing'], 'error: no test matches --run nothing\n'],
    [['good', '--run', '['], expect.stringContaining("argument '[' is invalid.")],
    [['good', '--min-coverage', '101'], expect.stringContaining('from 0 to 100')],
    [['good', '-o', 'xml'], expect.stringContaining('text, json, junit, tap')],
  ])('%j', async (args, stderr) => {
    expect(await run(...args)).toEqual({ code: 2, stdout: '', stderr });
  });
});

test('--run selects by file and name', async () => {
  for (const pattern of ['another', 'b_test', 'yml › an', '^good/b.*test$']) {
    const { code, stdout } = await run('good', 'failing', '--run', pattern);
    expect(code).toBe(0);
    expect(stdout).toBe(
      'good/b_test.yml\n  ok    another test\n1 test: 1 passed, 0 failed, 0 skipped; 3 requests\n',
    );
  }
});

describe('coverage', () => {
  test('fails if it is too low', async () => {
    const { code, stdout, stderr } = await run('good', '--min-coverage', '17');
    expect(code).toBe(1);
    expect(stdout).toContain('good/policies.yaml: 1 of 6 limits covered, 16 %\n');
    expect(stderr).toBe('headgate: 16.6 % of the limits are covered, fewer than 17 %\n');
    expect(await run('good', '--min-coverage', '16.5')).toMatchObject({ code: 0, stderr: '' });
  });

  test.each(['junit', 'tap'])('is beside the %s output, not in it', async (format) => {
    const plain = await run('good', '-o', format);
    const { stdout, stderr } = await run('good', '-o', format, '--coverage');
    expect(stdout).toBe(plain.stdout);
    expect(plain.stderr).toBe('');
    expect(stderr).toContain('1 of 6 limits covered');
  });

  test('is in the JSON output', async () => {
    const { stdout } = await run('good', '-o', 'json', '--coverage');
    const { coverage } = JSON.parse(stdout);
    expect(coverage.files).toMatchObject([
      {
        file: 'good/policies.yaml',
        limits: [{ policy: 'login', covered: true, matched: 6 }, {}, {}, {}, {}, { plan: 'pro' }],
      },
    ]);
    expect(coverage.percent).toBeCloseTo(100 / 6);
    expect(JSON.parse((await run('good', '-o', 'json')).stdout)).not.toHaveProperty('coverage');
  });
});

test('JUnit and TAP outputs name failures', async () => {
  const junit = await run('failing', '-o', 'junit');
  expect(junit.code).toBe(1);
  expect(junit.stdout).toContain('<testcase name="a test" classname="failing/a_test.yaml"');
  expect(junit.stdout).toContain('<failure message="POST /login by alice at 0s, request 3 of 3"');
  const tap = await run('failing', '-o', 'tap');
  expect(tap.code).toBe(1);
  expect(tap.stdout).toMatch(
    /^TAP version 13\n1\.\.1\nnot ok 1 - failing\/a_test\.yaml › a test\n/,
  );
});

const prove = spawnSync('prove', ['--version']);

/** What Perl's reader says about a report: its summary names what it did not understand. */
function proved(name: string, report: string) {
  write(name, report);
  const { status, stdout } = spawnSync('prove', ['--exec', 'cat', join(folder, name)]);
  return { status, summary: stdout.toString() };
}

test.skipIf(prove.error !== undefined)(
  'Perl reads the TAP output, and counts its failures',
  async () => {
    const names = [`a: "b" # SKIP`, `- x: y`, `it's \\# {z}`, '---', 'ok 1', ': x'];
    const failing = names.map((name) =>
      testFile([LOGINS.replace('policy: login', 'verdict: allow')]).replace(
        'a test',
        JSON.stringify(name),
      ),
    );
    mkdirSync(join(folder, 'named'));
    write('named/policies.yaml', POLICIES);
    for (const [i, text] of failing.entries()) write(`named/f${i}: x_test.yaml`, text);
    const failed = proved('failed.tap', (await run('named', 'good', '-o', 'tap')).stdout);
    expect(failed.summary).toMatch(
      /Tests: 8 Failed: 6\)\n {2}Failed tests: {2}1-6\nFiles=1, Tests=8,/,
    );
    expect(failed.status).not.toBe(0);
    const passed = proved('passed.tap', (await run('good', '-o', 'tap')).stdout);
    expect(passed.summary).toMatch(/Files=1, Tests=2,.*\nResult: PASS/);
    expect(passed.status).toBe(0);
  },
);

test('the shipped tests cover the shipped policy file, from any folder', async () => {
  const { code, stdout } = await run(CONFIG, '--min-coverage', '100');
  expect(stdout).toContain('policies.yaml: 7 of 7 limits covered, 100 %\n');
  expect(code).toBe(0);
});

test('without paths, the current folder is searched', async () => {
  const { code, stdout } = await runCommand(['test'], { cwd: join(folder, 'good') });
  expect(stdout).toMatch(/^a_test\.yaml\n/);
  expect(code).toBe(0);
});

test('headgate schema prints the schema of policy files, or of test files', async () => {
  const shipped = (name: string) => readFileSync(join(CONFIG, name), 'utf8');
  const print = async (...args: string[]) => (await runCommand(['schema', ...args])).stdout;
  expect(await print()).toBe(shipped('policies.schema.json'));
  expect(await print('policies')).toBe(shipped('policies.schema.json'));
  expect(await print('tests')).toBe(shipped('policy-tests.schema.json'));
  expect((await runCommand(['schema', 'others'])).code).toBe(2);
});
