import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { FileError } from '../../gateway/config/diagnostic.ts';
import { displayName, isElsewhere, NOT_SHOWN, readText } from '../../gateway/config/text-file.ts';
import { CommandFailed } from '../output/command-failed.ts';
import { EXIT_FAULT } from '../output/exit-codes.ts';
import { complain, sayFile } from '../output/output.ts';
import { differingFiles, writeFiles } from '../output/write-files.ts';
import { filesOf, filesOnDisk } from '../proxy-files/read/proxy-files.ts';
import { findingLine, ImportError, type Imported, importPolicies } from './import-source.ts';
import type { ImportKind } from './kinds.ts';

export interface ImportFlags {
  readonly out?: string;
  readonly force?: true;
  readonly shadow?: true;
}

const STANDARD_INPUT = '-';

/** Throws a CommandFailed if the file cannot be read, has no limit that can be carried over, or the result cannot be written. */
export async function runImport(kind: ImportKind, file: string, flags: ImportFlags): Promise<void> {
  const isInput = file === STANDARD_INPUT;
  const input = isInput ? await text(process.stdin) : undefined;
  const options = { shadow: flags.shadow === true };
  const imported = orFailed(file, () => {
    // The output of nginx -T has several files in one text.
    const open = kind === 'nginx' ? filesOf : filesOnDisk;
    const source =
      input === undefined
        ? open(file, readText(file))
        : open(join(process.cwd(), STANDARD_INPUT), input, 'standard input');
    return importPolicies(kind, source, options);
  });
  if (!imported.hasLimits) {
    complain(imported.findings.map(findingLine));
    const message = `${isInput ? 'standard input' : displayName(file)}: nothing was carried over, so nothing was written. Write the policies by hand: docs/policy-file.md`;
    throw new CommandFailed(EXIT_FAULT, message);
  }
  if (flags.out === undefined) sayFile(imported.text);
  else await writeOut(flags.out, imported.text, flags.force === true);
  complain([...imported.findings.map(findingLine), summary(imported, flags.out)]);
}

function orFailed(file: string, read: () => Imported): Imported {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ImportError || error instanceof FileError)) throw error;
    const isHidden = error instanceof ImportError && isElsewhere(file);
    const reason = isHidden
      ? `${displayName(file)} ${NOT_SHOWN}`
      : error.message.replace(/\.$/, '');
    throw new CommandFailed(EXIT_FAULT, `${reason}; nothing was written`);
  }
}

async function writeOut(path: string, written: string, force: boolean): Promise<void> {
  const [folder, name] = [dirname(path), basename(path)];
  const files = [{ name, text: written }];
  if (!force && (await differingFiles(folder, files)).length > 0) {
    const message = `${path}: exists already; nothing was written. Name another file, or add --force to overwrite.`;
    throw new CommandFailed(EXIT_FAULT, message);
  }
  await writeFiles(folder, files);
}

function summary({ findings, policies, limitsFound }: Imported, out: string | undefined): string {
  const count = (rule: string) => findings.filter((each) => each.rule === rule).length;
  const made = `${policies} ${policies === 1 ? 'policy' : 'policies'} and the default, from ${limitsFound} ${limitsFound === 1 ? 'limit' : 'limits'}`;
  const differing = `${count('left-out')} not carried over, ${count('approximate')} approximate, ${count('note')} to note`;
  return `headgate: ${out === undefined ? '' : `${out}: `}${made}; ${differing}`;
}
