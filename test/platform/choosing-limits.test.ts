/** docs/choosing-limits.md: every command runs in the order of the page, on the log that the repository generates. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { NODE } from '../support/tested-command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/choosing-limits.md'), 'utf8');

/** The texts in fences of a language, in order. */
function fenced(language: string): string[] {
  return [...PAGE.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  );
}

/** As a shell splits them; the page has single quotes only. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

test('every command of the page works, and prints what the page shows', {
  // A busy machine needs ten times as long as a quiet one.
  timeout: 300_000,
}, async () => {
  await using started = new AsyncDisposableStack();
  const folder = temporaryFolder(started);
  const sample = execFileSync(NODE, [join(ROOT, 'tools/sample-log.ts')], { maxBuffer: 2 ** 28 });
  writeFileSync(join(folder, 'access.log'), sample);
  const [tests = ''] = fenced('yaml');
  writeFileSync(join(folder, 'policies_test.yaml'), tests);

  let gateway: Gateway | undefined;
  let printed = '';
  const ran: string[] = [];
  for (const line of fenced('sh').join('').trimEnd().split('\n')) {
    const [program, command = '', ...words] = wordsOf(line);
    expect(program).toBe('headgate');
    ran.push(command);
    if (command === 'serve') {
      gateway = started.use(
        await startGateway({ HEADGATE_POLICIES: join(folder, words[1] ?? '') }),
      );
      continue;
    }
    const redirect = words.indexOf('>');
    const args = redirect === -1 ? words : words.slice(0, redirect);
    const opsPort = gateway && new URL(gateway.opsUrl).port;
    const { code, stdout, stderr } = await runCommand([command, ...args], {
      cwd: folder,
      env: opsPort === undefined ? {} : { HEADGATE_OPS_PORT: opsPort },
    });
    expect({ line, code, stderr }).toEqual({ line, code: 0, stderr: '' });
    if (redirect !== -1) writeFileSync(join(folder, words[redirect + 1] ?? ''), stdout);
    printed += stdout;
  }
  expect(new Set(ran)).toEqual(
    new Set(['suggest', 'check', 'replay', 'test', 'serve', 'policies', 'clients']),
  );
  for (const shown of fenced('').join('').trimEnd().split('\n')) expect(printed).toContain(shown);
  expect(readFileSync(join(folder, 'replay.html'), 'utf8')).toMatch(/^<!doctype html>/i);
});
