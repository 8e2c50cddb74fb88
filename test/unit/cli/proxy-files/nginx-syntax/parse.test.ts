/** The real NGINX confirms what is accepted in test/e2e/nginx-syntax.test.ts. OpenResty is tested here alone. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readNginxConfig } from '../../../../../src/cli/proxy-files/nginx-syntax/config.ts';
import {
  type Directive,
  everyDirective,
  NginxSyntaxError,
} from '../../../../../src/cli/proxy-files/nginx-syntax/directive.ts';
import { parseNginx } from '../../../../../src/cli/proxy-files/nginx-syntax/parse.ts';
import { filesOnDisk } from '../../../../../src/cli/proxy-files/read/proxy-files.ts';

const FOLDER = fileURLToPath(new URL('../../../../fixtures/nginx', import.meta.url));

const parse = (text: string) => parseNginx({ name: 'nginx.conf', text });
/** `[name, ...args]` of the directives, and in a list those of their blocks. */
const shapeOf = (tree: readonly Directive[]): unknown[] =>
  tree.map(({ name, args, block }) => [
    name,
    ...args,
    ...(block.length > 0 ? [shapeOf(block)] : []),
  ]);

describe('files as people have them', () => {
  const names = globSync('*.conf', { cwd: FOLDER }).sort();

  test('are at least 15', () => expect(names.length).toBeGreaterThanOrEqual(15));

  test.each(names)('%s', (name) => {
    const path = join(FOLDER, name);
    const { tree, problems } = readNginxConfig(filesOnDisk(path, readFileSync(path, 'utf8')));
    expect(problems).toEqual([]);
    expect(everyDirective(tree).length).toBeGreaterThan(4);
  });
});

test.each([
  ['gzip on;', [['gzip', 'on']]],
  ['"a b" \'c d\' "";', [['a b', 'c d', '']]],
  [
    String.raw`a "b\"c" 'd\'e' f\"g "h\\i" j\.k l\;m n\ o;`,
    [['a', 'b"c', "d'e", 'f"g', 'h\\i', 'j\\.k', 'l\\;m', 'n\\ o']],
  ],
  [String.raw`a "b\tc\nd\re";`, [['a', 'b\tc\nd\re']]],
  [`a $b$c $\{d}e f}g h#i; # j`, [['a', '$b$c', `$\{d}e`, 'f}g', 'h#i']]],
  [String.raw`location ~ ^/x\{1\}$ { a; }`, [['location', '~', String.raw`^/x\{1\}$`, [['a']]]]],
  ['location ~ "^/x{1,2}$" { a; }', [['location', '~', '^/x{1,2}$', [['a']]]]],
  ['location /a{b;}c;', [['location', '/a', [['b']]], ['c']]],
  ['if ($a ~ "b c") { d; }', [['if', '($a', '~', 'b c', ')', [['d']]]]],
  [
    'map $a $b { "" c; "~^d{2}" e; default f; }',
    [
      [
        'map',
        '$a',
        '$b',
        [
          ['', 'c'],
          ['~^d{2}', 'e'],
          ['default', 'f'],
        ],
      ],
    ],
  ],
])('%s', (text, shape) => {
  expect(shapeOf(parse(text))).toEqual(shape);
});

test('names places, as written arguments, and the parts of headgate', () => {
  const [http, last] = parse(
    '\ufeffhttp {\n\tadd_header A "b\nc";\n  # headgate: part for x\n  one 1;\n  # headgate: end of part\n}\n  two 2;',
  );
  expect(http?.block.map(({ where, place, isPart }) => [where, place.column, isPart])).toEqual([
    ['nginx.conf:2', 2, false],
    ['nginx.conf:5', 3, true],
  ]);
  expect(http?.block[0]?.written).toEqual(['A', '"b\nc"']);
  expect(last).toMatchObject({
    where: 'nginx.conf:8',
    place: { line: 8, column: 3 },
    isPart: false,
  });
});

describe('Lua', () => {
  test.each([
    ['a comment', "-- it's a }"],
    ['a comment of several lines', '--[[ } " \n } ]]'],
    ['a comment with a level', '--[==[ ]] } ]==]'],
    ['a text', `x = "}" .. '{' .. "\\"}" .. 'it\\'s }'`],
    ['a long text', 'x = [[ } ]] .. [=[ ]] } ]=]'],
    ['tables', 'x = { { 1 }, y[z[1]] }'],
    ['an apostrophe without an end', "x = ' \n y = { }"],
  ])('%s', (_, code) => {
    const tree = parse(`a { content_by_lua_block {\n${code}\n} b c; }`);
    expect(shapeOf(tree)).toEqual([['a', [['content_by_lua_block'], ['b', 'c']]]]);
    expect(tree[0]?.block[1]?.place.line).toBe(2 + code.split('\n').length);
  });

  test('with a variable, and in quotes', () => {
    const text = 'set_by_lua_block $x { return "}" } set_by_lua $y "return {}";';
    expect(shapeOf(parse(text))).toEqual([
      ['set_by_lua_block', '$x'],
      ['set_by_lua', '$y', 'return {}'],
    ]);
  });
});

test.each([
  ['a', '1:1: "a" has no end: add a ";"'],
  ['a { b }', '1:5: "b" has no end: add a ";"'],
  ['a {\n  b;', '1:1: the block of "a" has no end: add a "}"'],
  ['a; }', '1:4: this "}" closes no block: remove it'],
  ['a;;', '1:3: nothing stands before this ";"'],
  ['a { { } }', '1:5: nothing stands before this "{"'],
  ['a "b;\n', '1:3: this " has no end within 4094 characters: add a "'],
  ['a "b"c;', '1:5: after this " a space, a ";" or a "{" is missing'],
  ['a; \\', '1:4: the file ends with a backslash'],
  [`a ${'b'.repeat(4_095)};`, '1:3: has more than 4094 characters'],
  ['map $a $b { c { } }', '1:15: "map" has no blocks in it: put a text with "{" in quotes'],
  [
    'location ~ ^/x{1,2}$ {\n}',
    '1:16: a "{" begins a block: put a regular expression with braces in quotes',
  ],
  [
    'x_by_lua_block { "',
    '1:17: this block of Lua has no end: close its braces, texts and comments',
  ],
  [
    'x_by_lua_block { [[ }',
    '1:17: this block of Lua has no end: close its braces, texts and comments',
  ],
  ['a { '.repeat(60), '1:203: blocks are nested deeper than 50 levels'],
  [
    'server_name {{ name }};',
    '1:14: nothing stands before this "{". It looks like a template: render it first',
  ],
])('refuses %j', (text, message) => {
  expect(() => parse(text)).toThrow(`nginx.conf:${message}`);
});

test.each([
  ['brackets of Lua', `x_by_lua_block {${' [=[ '.repeat(100_000)}`],
  ['quotes', '"'.repeat(500_000)],
  ['words', 'a '.repeat(500_000)],
  ['backslashes', '\\'.repeat(500_000)],
  ['comments', '#\n'.repeat(500_000)],
  ['lines', '\n'.repeat(2_000_000)],
])('reads or refuses many %s at once', (_, text) => {
  try {
    expect(parse(text)).toEqual([]);
  } catch (error) {
    expect(error).toBeInstanceOf(NginxSyntaxError);
  }
});
