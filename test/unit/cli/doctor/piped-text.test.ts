import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { fileOrPipe, isPiped, STANDARD_INPUT } from '../../../../src/cli/doctor/piped-text.ts';
import { temporaryFile, temporaryFolder } from '../../../support/temporary.ts';

afterEach(() => vi.restoreAllMocks());

const MOST = 16 * 1024 * 1024;

function typed(chunks: Iterable<Buffer | string>) {
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from(chunks) as never);
  return fileOrPipe(STANDARD_INPUT);
}

test('reads standard input to its end, also characters that are divided between chunks', async () => {
  const bytes = Buffer.from('größe\n');
  expect(await typed([bytes.subarray(0, 3), bytes.subarray(3)])).toBe('größe\n');
  expect(await typed([])).toBe('');
});

test('16 MiB are read, and not a byte more', async () => {
  const half = Buffer.alloc(MOST / 2, 'a');
  expect(await typed([half, half])).toHaveLength(MOST);
  await expect(typed([half, half, 'b'])).rejects.toThrow(
    `standard input: has more than ${MOST} bytes`,
  );
});

test('what is too large is not read to its end', async () => {
  let sent = 0;
  function* endless() {
    while (true) {
      sent++;
      yield Buffer.alloc(MOST / 2);
    }
  }
  await expect(typed(endless())).rejects.toThrow('has more than');
  expect(sent).toBeLessThan(30);
});

test('an input that breaks off says why', async () => {
  function* broken() {
    yield 'a';
    throw new Error('the pipe broke');
  }
  await expect(typed(broken())).rejects.toThrow('standard input: cannot be read: the pipe broke');
});

test('a file is read from disk, and is no pipe', async () => {
  using stack = new DisposableStack();
  const file = temporaryFile(stack, 'text\n', 'nginx.conf');
  expect(isPiped(file)).toBe(false);
  expect(await fileOrPipe(file)).toBe('text\n');
  expect(isPiped(STANDARD_INPUT)).toBe(true);
  const missing = join(temporaryFolder(stack), 'missing.conf');
  expect(isPiped(missing)).toBe(false);
  await expect(fileOrPipe(missing)).rejects.toThrow('missing.conf');
  writeFileSync(missing, 'now it is there');
  expect(await fileOrPipe(missing)).toBe('now it is there');
});
