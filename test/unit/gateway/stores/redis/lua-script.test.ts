import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  assembleLuaScript,
  includesOf,
  readLuaScript,
} from '../../../../../src/gateway/stores/redis/lua-script.ts';

const include = (name: string) => `--- @include "${name}"\n`;

describe('a script', () => {
  const assemble = (files: Record<string, string>) =>
    assembleLuaScript('main', (file) => files[file]);

  test('follows what it includes, each file once', () => {
    const files = {
      main: `${include('a')}${include('b')}main`,
      'includes/a': `${include('c')}a`,
      'includes/b': `${include('c')}${include('a')}b`,
      'includes/c': 'c',
    };
    const code = assemble(files)
      .split('\n')
      .filter((line) => !line.startsWith('---'));
    expect(code).toEqual(['c', 'a', 'b', 'main']);
  });

  test('that includes a missing file is refused', () => {
    expect(() => assemble({ main: include('a'), 'includes/a': include('clok') })).toThrow(
      'there is no file lua/includes/clok.lua, which lua/includes/a.lua includes',
    );
    expect(() => assemble({})).toThrow('there is no file lua/main.lua');
  });

  test('whose includes are circular is refused', () => {
    const files = { main: include('a'), 'includes/a': include('b'), 'includes/b': include('a') };
    expect(() => assemble(files)).toThrow(
      'lua includes are circular: main -> includes/a -> includes/b -> includes/a',
    );
  });

  test.each(['-- @include "a"', "--- @include 'a'", '--- @include a', '---@include "a" and more'])(
    'with a misspelled include is refused: %s',
    (line) => {
      expect(() => assemble({ main: `${line}\nmain`, 'includes/a': 'a' })).toThrow(
        'lua/main.lua: "',
      );
    },
  );

  test('of lua/ that is missing is named', () => {
    expect(() => readLuaScript('tak')).toThrow('there is no file lua/tak.lua');
  });
});

const LUA = new URL('../../../../../lua/', import.meta.url);
const files = readdirSync(LUA, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.lua'))
  .map((name) => name.replace(/\.lua$/, ''));
const scripts = files.filter((file) => !file.startsWith('includes/'));
const textOf = (file: string) => readFileSync(new URL(`${file}.lua`, LUA), 'utf8');
const headerOf = (file: string) => /^(--.*\n)+/.exec(textOf(file))?.[0] ?? '';
const codeOf = (text: string) => text.replace(/--.*$/gm, '').replace(/'[^'\n]*'/g, "''");
const directIncludes = (file: string) => includesOf(file, textOf(file));
const allIncludes = (file: string): string[] =>
  directIncludes(file).flatMap((each) => [...allIncludes(each), each]);

/** The names that a file gives to what others may use: its locals outside of functions. */
const exportsOf = (file: string) =>
  [...codeOf(textOf(file)).matchAll(/^local (?:function )?([\w, ]+)/gm)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim()),
  );
const wordsOf = (file: string) => new Set(codeOf(textOf(file)).match(/[A-Za-z_]\w*/g));
const uses = (file: string, name: string) =>
  wordsOf(file).has(name) && !exportsOf(file).includes(name);

/** `KEYS`, `KEYS[1]`, `ARGV[3]` ... The last row of a header stands for all arguments after it. */
const argumentsOf = (text: string) => [...new Set(text.match(/\b(KEYS|ARGV)(\[\d+\])?/g))].sort();

describe.each(files)('lua/%s.lua', (file) => {
  test('says in its first line what it is for', () => {
    expect(headerOf(file)).toMatch(/^-- [A-Z][^\n]{20,}\n/);
  });

  test('includes what it uses', () => {
    const known = new Set([...exportsOf(file), ...allIncludes(file).flatMap(exportsOf)]);
    const foreign = files
      .filter((other) => other.startsWith('includes/') && other !== file)
      .flatMap((other) => exportsOf(other));
    const missing = [...wordsOf(file)].filter((word) => foreign.includes(word) && !known.has(word));
    // A local of a function may have the name of another file's local.
    const ownLocals = new Set(
      codeOf(textOf(file)).match(/(?<=local [\w, ]*|function [\w.]*\([\w, ]*|for [\w, ]*)\b\w+/g),
    );
    expect(missing.filter((word) => !ownLocals.has(word))).toEqual([]);
  });

  test.each(directIncludes(file))('uses what it includes: %s', (included) => {
    expect(exportsOf(included).some((name) => uses(file, name))).toBe(true);
  });
});

describe.each(scripts)('the header of lua/%s.lua', (script) => {
  const parts = [...new Set([...allIncludes(script), script])];
  test('names the keys and arguments that its code reads, and no others', () => {
    const code = parts
      .map((part) => codeOf(textOf(part)).replaceAll(/ARGV\[i[^\]]*\]/g, ''))
      .join('\n');
    const read = argumentsOf(code).filter((name) => name !== 'ARGV');
    const rows = /for i = (\d+), #ARGV/.exec(code)?.[1];
    const expected = rows === undefined ? read : [...read, `ARGV[${rows}]`];
    expect(argumentsOf(headerOf(script).replace(/^-- RETURNS[\s\S]*/m, ''))).toEqual(
      expected.sort(),
    );
  });
  test('says what the script returns', () => {
    expect(headerOf(script)).toMatch(/^-- RETURNS {2}\S/m);
  });
});

test('every file of lua/includes is included by a script', () => {
  const included = new Set(scripts.flatMap(allIncludes));
  expect(files.filter((file) => !scripts.includes(file) && !included.has(file))).toEqual([]);
});
