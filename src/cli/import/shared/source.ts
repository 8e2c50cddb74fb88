/** What a converter reads: a text with its name, and the files beside it. */

export interface Source {
  /** As it is shown to people. */
  readonly name: string;
  readonly text: string;
  /** The folder from which the text names other files. */
  readonly folder: string;
  readonly files: SourceFiles;
}

/** How a converter reads other files. */
export interface SourceFiles {
  /** Throws an Error whose message names the file and says why it cannot be read. */
  read(path: string): string;
  /** Names of the entries of a folder, in alphabetical order; empty if there is no such folder. */
  list(folder: string): readonly string[];
  /** Whether the file is not in the folder, so that its text must not be shown if it is another kind of file. */
  isElsewhere(path: string, folder: string): boolean;
  /** The name of a file as it is shown to people. */
  shown(path: string): string;
}

/** Lines and columns count from 1. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export function placeText({ file, line, column }: SourcePlace): string {
  return `${file}:${line}:${column}`;
}

/** For comments in the policy file. */
export function lineText({ file, line }: SourcePlace): string {
  return `${file}:${line}`;
}
