/** `headgate keys import`: copies keys from a database, batch by batch. */
import { createReadStream } from 'node:fs';
import { plural } from '../../gateway/operations/texts.ts';
import { changeGateway } from '../ops-client/gateway-client.ts';
import { type ChangeFlags, operatorName } from '../ops-client/gateway-options.ts';
import { CommandFailed } from '../output/command-failed.ts';
import { EXIT_FAULT, EXIT_USAGE } from '../output/exit-codes.ts';
import { complain, type OutputFlags, print, terminalLine } from '../output/output.ts';
import { keyBatches } from './key-lines.ts';
import { warningLines } from './key-text.ts';

type ImportFlags = ChangeFlags & OutputFlags & { readonly reason?: string };

const MOST_MISTAKES = 100;

/** Rejects with a CommandFailed if a call was refused. What was sent before is in the store. */
export async function importKeys(file: string, flags: ImportFlags): Promise<void> {
  const name = file === '-' ? 'standard input' : file;
  const total = { added: 0, changed: 0, unchanged: 0, refused: 0 };
  const warnings = new Set<string>();
  const progress = terminalLine();
  const onMistake = (line: number | undefined, message: string) => {
    total.refused++;
    if (total.refused <= MOST_MISTAKES) complain(`${name}:${line}: ${message}`);
    if (total.refused === MOST_MISTAKES) complain('Further lines are counted, but not listed.');
  };
  try {
    for await (const batch of keyBatches(chunksOf(file, name), onMistake)) {
      const keys = batch.map(({ key }) => key);
      const input = { keys, reason: flags.reason, by: operatorName(flags) };
      const done = await changeGateway(flags, 'importKeys', input);
      for (const { index, message } of done.refused) onMistake(batch[index]?.number, message);
      total.added += done.added;
      total.changed += done.changed;
      total.unchanged += done.unchanged;
      for (const each of done.warnings) warnings.add(each);
      progress?.(totalText(total));
    }
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    const soFar = `until then: ${totalText(total)}; running it again is safe`;
    throw new CommandFailed(error.exitCode, `${error.message}; ${soFar}`, { cause: error });
  } finally {
    progress?.('');
  }
  print(flags.output, { ...total, warnings: [...warnings] }, () => [
    totalText(total),
    ...warningLines([...warnings]),
  ]);
  if (total.refused > 0) process.exitCode = EXIT_FAULT;
}

type Counted = 'added' | 'changed' | 'unchanged' | 'refused';

function totalText({ added, changed, unchanged, refused }: Record<Counted, number>): string {
  const others = refused === 0 ? '' : `; ${plural(refused, 'line')} refused`;
  return `${plural(added, 'key')} added, ${changed} changed, ${unchanged} unchanged${others}`;
}

async function* chunksOf(file: string, name: string): AsyncGenerator<Buffer> {
  try {
    yield* file === '-' ? process.stdin : createReadStream(file);
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw new CommandFailed(EXIT_USAGE, `${name} cannot be read: ${code}`, { cause });
  }
}
