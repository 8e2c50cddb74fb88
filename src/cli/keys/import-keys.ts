/** `headgate keys import`: copies keys from a database, a few batches at a time. */
import { createReadStream } from 'node:fs';
import { plural } from '../../gateway/operations/texts.ts';
import { changeGateway } from '../ops-client/gateway-client.ts';
import { type ChangeFlags, operatorName } from '../ops-client/gateway-options.ts';
import { CommandFailed } from '../output/command-failed.ts';
import { EXIT_FAULT, EXIT_USAGE } from '../output/exit-codes.ts';
import { complain, type OutputFlags, print, terminalLine } from '../output/output.ts';
import { type KeyLine, keyBatches } from './key-lines.ts';
import { warningLines } from './key-text.ts';

interface ImportFlags extends ChangeFlags, OutputFlags {
  readonly reason?: string;
}

const MOST_AT_ONCE = 4;
const MOST_MISTAKES = 100;

/** Rejects with a CommandFailed if a call was refused. What was sent before is in the store. */
export async function importKeys(file: string, flags: ImportFlags): Promise<void> {
  const { output, reason, ...gateway } = flags;
  const name = file === '-' ? 'standard input' : file;
  const total = { added: 0, changed: 0, unchanged: 0, refused: 0 };
  const warnings = new Set<string>();
  const progress = terminalLine();
  const onMistake = (line: number, message: string) => {
    total.refused++;
    if (total.refused <= MOST_MISTAKES) complain(`${name}:${line}: ${message}`);
    if (total.refused === MOST_MISTAKES) complain('Further lines are counted, but not listed.');
  };
  const send = async (batch: readonly KeyLine[]) => {
    const input = { keys: batch.map(({ key }) => key), reason, by: operatorName(flags) };
    const done = await changeGateway(gateway, 'importKeys', input);
    for (const { index, message } of done.refused) onMistake(batch[index]?.number ?? 0, message);
    total.added += done.added;
    total.changed += done.changed;
    total.unchanged += done.unchanged;
    for (const each of done.warnings) warnings.add(each);
    progress?.(totalText(total));
  };
  try {
    await sendAll(keyBatches(chunksOf(file, name), onMistake), send);
  } catch (error) {
    progress?.('');
    if (!(error instanceof CommandFailed)) throw error;
    const soFar = `until then: ${totalText(total)}; running it again is safe`;
    throw new CommandFailed(error.exitCode, `${error.message}; ${soFar}`, { cause: error });
  }
  progress?.('');
  print(output, { ...total, warnings: [...warnings] }, () => [
    totalText(total),
    ...warningLines([...warnings]),
  ]);
  if (total.refused > 0) process.exitCode = EXIT_FAULT;
}

function totalText({ added, changed, unchanged, refused }: Record<Counted, number>): string {
  const others = refused === 0 ? '' : `; ${plural(refused, 'line')} refused`;
  return `${plural(added, 'key')} added, ${changed} changed, ${unchanged} unchanged${others}`;
}

type Counted = 'added' | 'changed' | 'unchanged' | 'refused';

async function* chunksOf(file: string, name: string): AsyncGenerator<Buffer> {
  try {
    yield* file === '-' ? process.stdin : createReadStream(file);
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw new CommandFailed(EXIT_USAGE, `${name} cannot be read: ${code}`, { cause });
  }
}

/** After a failure, waits for what is under way, and rejects with the first error. */
async function sendAll(
  batches: AsyncIterable<readonly KeyLine[]>,
  send: (batch: readonly KeyLine[]) => Promise<void>,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const batch of batches) {
    const sent = send(batch)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => underWay.delete(sent));
    underWay.add(sent);
    if (underWay.size === MOST_AT_ONCE) await Promise.race(underWay);
    if (failures.length > 0) break;
  }
  await Promise.all(underWay);
  if (failures.length > 0) throw failures[0];
}
