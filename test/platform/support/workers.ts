/** The worker processes of a gateway. */
import { readFile } from 'node:fs/promises';

/** The ids of its child processes. */
export async function workersOf({ pid }: { readonly pid: number }): Promise<number[]> {
  const text = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
