/** `headgate keys import`: copies keys from a database, batch by batch. */
import { createReadStream } from 'node:fs';
import { plural } from '../../gateway/operations/texts.ts';
import { changeGateway } from '../ops-client/gateway-client.ts';
import { type ChangeFlags, operatorName } from '../ops-client/gateway-options.ts';
import { CommandFailed } from '../output/command-failed.ts';
import { EXIT_FAULT, EXIT_USAGE } from '../output/exit-codes.ts';
import { complain, type OutputFlags, print, terminalLine } from '../output/output.ts';
import { type KeyLine, keyBatches } from './key-lines.ts';
import { warningLines } from './key-text.ts';

type ImportFlags = ChangeFlags & OutputFlags & { readonly reason?: string };

const MOST_MISTAKES = 100;

/** Rejects with a CommandFailed if a call was refused. What was sent before is in the store. */
export async function importKeys(file: string, flags: ImportFlags): Promise<void> {
  const name = file === '-' ? 'standard input' : file;
  const total = { added: 0, changed: 0, unchanged: 0, refused: 0 };
  const warnings = new Set<string>();
  const doubts = new Map<string, Doubt>();
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
      for (const { index, message } of done.doubtful) {
        const { keys, first } = doubts.get(message) ?? { keys: 0, first: batch[index] };
        // There may be as many plans as lines.
        if (keys > 0 || doubts.size < MOST_MISTAKES) doubts.set(message, { keys: keys + 1, first });
      }
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
  const all = [...[...doubts].map(doubtText), ...warnings];
  print(flags.output, { ...total, warnings: all }, () => [totalText(total), ...warningLines(all)]);
  if (total.refused > 0) process.exitCode = EXIT_FAULT;
}

interface Doubt {
  readonly keys: number;
  readonly first: KeyLine | undefined;
}

function doubtText([message, { keys, first }]: readonly [string, Doubt]): string {
  return `${plural(keys, 'key')}, first ${first?.key.id} in line ${first?.number}: ${message}`;
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
