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
  readonly #path: string;
  readonly #option: string;
  readonly #file: FileHandle;
  #failure: CommandFailed | undefined;

  private constructor(path: string, option: string, file: FileHandle) {
    this.#path = path;
    this.#option = option;
    this.#file = file;
  }

  /** `option` names the file on the command line. Throws a CommandFailed. */
  static async open(path: string, option: string): Promise<OutputFile> {
    try {
      return new OutputFile(path, option, await open(path, 'w'));
    } catch (error) {
      throw notWritten(path, option, error);
    }
  }

  /** Appends. A failure is told when the file is closed, so that it does not end the work. */
  async write(text: string, encoding: BufferEncoding = 'utf8'): Promise<void> {
    if (this.#failure !== undefined) return;
    try {
      await this.#file.appendFile(text, encoding);
    } catch (error) {
      this.#failure = notWritten(this.#path, this.#option, error);
    }
  }

  /** Throws a CommandFailed if the file could not be written. */
  async close(): Promise<void> {
    await this.#file.close();
    if (this.#failure !== undefined) throw this.#failure;
  }
}

function notWritten(path: string, option: string, error: unknown): CommandFailed {
  const reason = reasonOf(error as NodeJS.ErrnoException);
  return new CommandFailed(EXIT_FAULT, `${option} ${path}: cannot be written: ${reason}`);
}

export function reasonOf({ code = '', message }: NodeJS.ErrnoException): string {
  return REASONS[code] ?? message;
}
