/**
 * Schemathesis (schemathesis.io), a fuzzer of APIs that have an OpenAPI document, on the ops server: data that fit the
 * document and data that do not, every method, and wrong tokens. It checks statuses, media types, schemas of answers,
 * that it gets what the document promises, and that nothing else is accepted.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Gateway } from '../support/gateway.ts';
import { policyFile, startOperated } from '../support/operations.ts';
import { startProcess } from '../support/process.ts';

const { schemathesis: program } = inject('programs');
const TOKEN = 'the-token-of-all-operators';
const CASES_PER_CALL = 10;
/** A machine that does nothing else needs five seconds. */
const ENDS_WITHIN_MS = 600_000;

describe.skipIf(program === undefined)('a fuzzer finds nothing wrong with the ops API', () => {
  const started = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-fuzzer-'));
  let policies: string;
  beforeAll(() => {
    policies = policyFile(started);
  });
  afterAll(async () => {
    await started.disposeAsync();
    rmSync(folder, { recursive: true });
  });

  const LONG = { timeout: ENDS_WITHIN_MS + 60_000 };

  test('without a token', LONG, async () => {
    await using gateway = await startOperated(policies);
    expect(await fuzz(gateway)).toEqual({ code: 0, found: '' });
  });

  test('with a token', LONG, async () => {
    await using gateway = await startOperated(policies, { HEADGATE_ADMIN_TOKEN: TOKEN });
    const header = `Authorization: Bearer ${TOKEN}`;
    expect(await fuzz(gateway, '--header', header)).toEqual({ code: 0, found: '' });
  });

  /** What it says from its first failure on, and its exit code. */
  async function fuzz({ opsUrl }: Gateway, ...more: string[]) {
    const options = [
      ...['run', `${opsUrl}/openapi.json`, '--no-color', '--checks', 'all'],
      ...['--phases', 'examples,coverage,fuzzing'],
      // The same cases in each run, however slow the machine is.
      ...['--seed', '33', '--max-examples', String(CASES_PER_CALL)],
      ...['--generation-database', 'none', '--suppress-health-check', 'all'],
      ...['--request-timeout', '60', '--warnings', 'off', ...more],
    ];
    const path = program ?? '';
    await using run = startProcess(path, options, {
      cwd: folder,
      // Its packages are beside the folder of its program.
      env: { ...process.env, PYTHONPATH: dirname(dirname(path)), PYTHONDONTWRITEBYTECODE: '1' },
    });
    const late = setTimeout(() => run.stop('SIGKILL'), ENDS_WITHIN_MS);
    const code = await run.exited();
    clearTimeout(late);
    const [, found = ''] = /=+ (?:FAILURES|ERRORS) =+(.*)/s.exec(run.output()) ?? [];
    return { code, found: code === 0 ? '' : found || run.output() };
  }
});
