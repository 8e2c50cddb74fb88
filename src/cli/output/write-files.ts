/** Writes several files into a folder: all of them or none. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { notWritten } from './output-file.ts';

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

/** Names of the files that are there with another text. Throws a CommandFailed if one cannot be read. */
export async function differingFiles(
  folder: string,
  files: readonly NamedText[],
): Promise<string[]> {
  const differing = await Promise.all(
    files.map(async ({ name, text }) => {
      const path = join(folder, name);
      const found = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw notWritten(path, error);
      });
      return found === undefined || found === text ? [] : [name];
    }),
  );
  return differing.flat();
}

/**
 * Makes the folder if it is missing. Every file is written under another name first, so that a full disk or a signal
 * leaves no half of a file. Throws a CommandFailed.
 */
export async function writeFiles(folder: string, files: readonly NamedText[]): Promise<void> {
  const written: { readonly scratch: string; readonly path: string }[] = [];
  let current = folder;
  try {
    await mkdir(folder, { recursive: true });
    for (const { name, text } of files) {
      const path = join(folder, name);
      current = path;
      const scratch = join(folder, `.${name}.${process.pid}.new`);
      written.push({ scratch, path });
      await writeFile(scratch, text, { flag: 'wx' });
    }
    for (const { scratch, path } of written) {
      current = path;
      await rename(scratch, path);
    }
  } catch (error) {
    await Promise.all(written.map(({ scratch }) => rm(scratch, { force: true })));
    throw notWritten(current, error);
  }
}
