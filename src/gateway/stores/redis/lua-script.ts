/**
 * Reads the scripts of lua/. A script names the files of lua/includes/ that it needs, one per line:
 *
 *     --- @include "server"
 */
import { readFileSync } from 'node:fs';

const FOLDER = new URL('../../../../lua/', import.meta.url);
const INCLUDE_FOLDER = 'includes/';

const INCLUDE = /^--- @include "([a-z-]+)"$/;
const MENTIONS_INCLUDE = /^\s*-+\s*@include\b/;

/** Throws an Error that names the file, if an include is misspelled, missing or circular. */
export function readLuaScript(name: string): string {
  return assembleLuaScript(name, readSource);
}

/** Returns undefined if there is no such file. `file` is relative to lua/, without its extension. */
export type ReadSource = (file: string) => string | undefined;

/** The text of a script after the texts of all files that it includes, each of them once. */
export function assembleLuaScript(name: string, read: ReadSource): string {
  const texts = new Map<string, string>();
  const add = (file: string, includers: readonly string[]): void => {
    if (texts.has(file)) return;
    if (includers.includes(file)) {
      throw new Error(`lua includes are circular: ${[...includers, file].join(' -> ')}`);
    }
    const text = read(file);
    if (text === undefined) {
      const includer = includers.at(-1);
      const reason = includer === undefined ? '' : `, which lua/${includer}.lua includes`;
      throw new Error(`there is no file lua/${file}.lua${reason}`);
    }
    for (const include of includesOf(file, text)) add(include, [...includers, file]);
    texts.set(file, text);
  };
  add(name, []);
  return [...texts.values()].join('\n');
}

export function includesOf(file: string, text: string): string[] {
  const lines = text.split('\n').filter((line) => MENTIONS_INCLUDE.test(line));
  return lines.map((line) => {
    const include = INCLUDE.exec(line)?.[1];
    if (include !== undefined) return INCLUDE_FOLDER + include;
    throw new Error(`lua/${file}.lua: "${line}" must be written as --- @include "name"`);
  });
}

function readSource(file: string): string | undefined {
  try {
    return readFileSync(new URL(`${file}.lua`, FOLDER), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
