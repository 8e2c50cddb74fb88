/** Files and folders that a stack removes when it is disposed of. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Stack = Pick<DisposableStack | AsyncDisposableStack, 'defer'>;

export function temporaryFolder(stack: Stack): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns the path of a file with this text. */
export function temporaryFile(stack: Stack, text: string, name = 'policies.yaml'): string {
  const file = join(temporaryFolder(stack), name);
  writeFileSync(file, text);
  return file;
}
