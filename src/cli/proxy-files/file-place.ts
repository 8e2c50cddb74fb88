import type { Place } from '../../gateway/config/diagnostic.ts';

export interface FilePlace extends Place {
  /** The name that is shown to people. */
  readonly file: string;
}

export function placeText({ file, line, column }: FilePlace): string {
  return `${file}:${line}:${column}`;
}

export function lineText({ file, line }: FilePlace): string {
  return `${file}:${line}`;
}
