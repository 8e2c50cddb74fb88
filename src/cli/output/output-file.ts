/** Files that a command writes. They are opened before the work begins, so that a wrong path costs no hours. */
import { type FileHandle, open } from 'node:fs/promises';
import { CommandFailed } from './command-failed.ts';
import { EXIT_FAULT } from './exit-codes.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'its folder is a file',
  EEXIST: 'something else is there',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
};

export class OutputFile {
  readonly #name: string;
  readonly #file: FileHandle;
  #failure: CommandFailed | undefined;

  private constructor(name: string, file: FileHandle) {
    this.#name = name;
    this.#file = file;
  }

  /** `option` names the file on the command line. Throws a CommandFailed. */
  static async open(path: string, option: string): Promise<OutputFile> {
    const name = `${option} ${path}`;
    try {
      return new OutputFile(name, await open(path, 'w'));
    } catch (error) {
      throw notWritten(name, error);
    }
  }

  /** Appends. A failure is told when the file is closed, so that it does not end the work. */
  async write(text: string, encoding: BufferEncoding = 'utf8'): Promise<void> {
    if (this.#failure !== undefined) return;
    try {
      await this.#file.appendFile(text, encoding);
    } catch (error) {
      this.#failure = notWritten(this.#name, error);
    }
  }

  /** Throws a CommandFailed if the file could not be written. */
  async close(): Promise<void> {
    await this.#file.close();
    if (this.#failure !== undefined) throw this.#failure;
  }
}

export function notWritten(name: string, error: unknown): CommandFailed {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return new CommandFailed(EXIT_FAULT, `${name}: cannot be written: ${REASONS[code] ?? message}`);
}
