import { describe, expect, test } from 'vitest';
import {
  POLICY_FILE,
  YamlFile,
  type YamlKind,
} from '../../../../../src/gateway/config/yaml/yaml-file.ts';

const readYaml = (text: string, kind?: YamlKind) => new YamlFile(text, 'f.yaml', kind);
const mistakesOf = (text: string) => readYaml(text).mistakes.map(({ message }) => message);
const placeOf = (text: string, path: readonly (string | number)[]) => {
  const { line, column } = readYaml(text).placeOf(path);
  return `${line}:${column}`;
};

describe('the place of a path', () => {
  const text = 'a:\n  - b: 1\n    64: c\n  -\nlast:\n';
  test.each<[string, readonly (string | number)[]]>([
    ['1:1', []],
    ['2:3', ['a']],
    ['2:5', ['a', 0]],
    ['2:8', ['a', 0, 'b']],
    ['3:9', ['a', 0, '64']],
    ['4:3', ['a', 1]],
    ['5:5', ['last']],
    ['2:5', ['a', 0, 'missing']],
    ['2:3', ['a', 7]],
    ['1:1', ['missing', 'below']],
  ])('is %s for %j', (place, path) => {
    expect(placeOf(text, path)).toBe(place);
  });
  test('is that of the key for a key', () => {
    const yaml = readYaml(text);
    expect(yaml.offsetOfKey(['a', 0], '64')).toBe(text.indexOf('64:'));
    expect(yaml.offsetOfKey(['a', 0], 'missing')).toBe(text.indexOf('b: 1'));
  });
  test('does not count a byte order mark', () => {
    expect(placeOf('\ufeffa: 1', ['a'])).toBe('1:4');
  });
});

test('knows which paths the text has', () => {
  const yaml = readYaml('a: { b: [1] }\nc:');
  expect([['a', 'b', 0], ['a', 'b', 1], ['c'], ['d']].map((path) => yaml.has(path))).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

describe('the excerpt', () => {
  const excerptAt = (text: string, offset: number) => {
    const draft = { rule: 'invalid-value', path: ['a'], message: 'is wrong', offset } as const;
    return readYaml(text).diagnostics([draft])[0]?.excerpt;
  };
  test('is the line of the place', () => {
    expect(excerptAt('a: 1\n  b: 2  \nc: 3', 7)).toEqual({ text: '  b: 2', caret: 2 });
    expect(excerptAt('a: 1\nc: 3', 8)).toEqual({ text: 'c: 3', caret: 3 });
  });
  test('is only the part around the place if the line is long', () => {
    const excerpt = excerptAt(`key: ${'x'.repeat(500)}`, 200);
    expect(excerpt).toEqual({ text: 'x'.repeat(120), caret: 60 });
  });
  test('shows control characters as spaces, so that the caret stays at its place', () => {
    expect(excerptAt('a: "\u001b[31m\u202e" # b', 14)).toEqual({
      text: 'a: " [31m " # b',
      caret: 14,
    });
  });
  test('is undefined for an empty line', () => {
    expect(excerptAt('a: 1\n   \nb: 2', 6)).toBeUndefined();
  });
});

test.each([
  ['a: 1\na: 2', 'this key is repeated, keep one of them'],
  ['{ a: 1, "a": 2 }', 'this key is repeated, keep one of them'],
  ['a: { b: 1, b: 2 }', 'this key is repeated, keep one of them'],
  ['__proto__: 1', '"__proto__" is not a valid key, remove it'],
  ['a: *b', 'there is no anchor "&b" before this alias'],
  ['a: *b\nc: &b 1', 'there is no anchor "&b" before this alias'],
  ['', 'the file is empty, it needs at least "version" and "default"'],
  ['# nothing', 'the file is empty, it needs at least "version" and "default"'],
  ['a: 1\n---\nb: 2', 'a second document begins here, a policy file has only one'],
  ['a: !secret 1', 'a tag is not known here, remove it'],
  ['%YAML 1.1\n---\na: 1', '"%YAML 1.1" changes the meaning of values'],
  ['a:\n  b: 1\n c: 2', 'this line is indented differently'],
])('refuses %j', (text, message) => {
  expect(mistakesOf(text)).toContainEqual(expect.stringContaining(message));
});

test.each([
  ['a: 1\nb: { a: 1 }', { a: 1, b: { a: 1 } }],
  ['a: &x [1]\nb: *x', { a: [1], b: [1] }],
  ['%YAML 1.2\n---\nyes: no', { yes: 'no' }],
])('reads %j', (text, value) => {
  expect(readYaml(text)).toMatchObject({ value, mistakes: [] });
});

test('does not quote the file in messages of the parser: it may hold a secret', () => {
  const messages = mistakesOf('a: b: my-secret\n- my-secret: [\n').join('\n');
  expect(messages).not.toBe('');
  expect(messages).not.toContain('my-secret');
});

test('bounds the number of aliases, and what they add to the file', () => {
  const text = (count: number) => `a: &a 1\nb: [${'*a, '.repeat(count)}]`;
  expect(mistakesOf(text(40))).toEqual([]);
  expect(mistakesOf(text(100))).toEqual([
    'aliases repeat too much of the file, write their values out',
  ]);
  expect(mistakesOf(text(101))).toEqual([
    'the file has more than 100 aliases, write their values out',
  ]);
});

test('reports at most 100 mistakes of a kind', () => {
  expect(mistakesOf('a: 1\n'.repeat(150))).toHaveLength(100);
});

describe('bounds', () => {
  const bounds = { ...POLICY_FILE, maxBytes: 20, maxParts: 6 };
  test.each([
    ['a: "123456789012345"', []],
    ['a: "1234567890123456"', ['the file has 21 bytes, the maximum is 20']],
    ['[1, 2, 3, 4, 5, 6]', []],
    ['[1,2,3,4,5,6,7,8]', ['the file has more than 6 values, keys and lines']],
    ["'''''''''", ['the file has more than 6 values, keys and lines']],
  ])('%s', (text, expected) => {
    expect(readYaml(text, bounds).mistakes.map(({ message }) => message)).toEqual(expected);
  });
  test.each([
    [63, []],
    [64, ['the file is nested deeper than 64 levels']],
  ])('%i brackets', (depth, expected) => {
    expect(mistakesOf('['.repeat(depth) + ']'.repeat(depth))).toEqual(expected);
  });
  test('a line of millions of list markers', () => {
    const kind = { ...POLICY_FILE, maxBytes: 20_000_000 };
    const { mistakes } = readYaml('- '.repeat(8_000_000), kind);
    expect(mistakes).toMatchObject([{ message: 'the file is nested deeper than 64 levels' }]);
  });
  test('brackets that close before they open do not raise the depth that is left', () => {
    const text = `a: ']]]]]'\nb: ${'['.repeat(64)}`;
    expect(mistakesOf(text)).toEqual(['the file is nested deeper than 64 levels']);
  });
});

test('messages name the kind of the file', () => {
  const kind = { ...POLICY_FILE, name: 'a menu', needed: '"soup"' };
  const messagesOf = (text: string) => readYaml(text, kind).mistakes.map(({ message }) => message);
  expect(messagesOf('')).toEqual(['the file is empty, it needs at least "soup"']);
  expect(messagesOf('a: 1\n---\nb: 2')).toContain(
    'a second document begins here, a menu has only one',
  );
});

describe('a lenient kind of file', () => {
  const kind = { ...POLICY_FILE, isLenient: true };
  test.each([
    ['a: 1\na: 2\n', { a: 2 }],
    ['a: 1\n---\nb: 2\n', { a: 1 }],
  ])('%j', (text, value) => {
    expect(readYaml(text, kind)).toMatchObject({ value, mistakes: [] });
    expect(readYaml(text).mistakes).toHaveLength(1);
  });
  test('still has no "__proto__"', () => {
    expect(readYaml('__proto__: 1', kind).mistakes).toHaveLength(1);
  });
});

test('a kind of file may read values in its own way, and refuse them', () => {
  const kind = { ...POLICY_FILE, toValue: () => 'mine' };
  expect(readYaml('a: 1', kind)).toMatchObject({ value: 'mine', mistakes: [] });
  const mistake = { offset: 0, message: 'is not mine' };
  const refusing: YamlKind = {
    ...POLICY_FILE,
    toValue: (_, mistakes) => {
      mistakes.push(mistake);
      return 'mine';
    },
  };
  expect(readYaml('a: 1', refusing)).toMatchObject({ value: undefined, mistakes: [mistake] });
});

describe('diagnostics', () => {
  const rule = 'invalid-value';
  const message = 'is wrong';
  const yaml = readYaml('a: 1\nidentity:\n  api_key: secret\nlist: [x]\n');
  const place = (...paths: (string | number)[][]) =>
    yaml.diagnostics(paths.map((path) => ({ rule, path, message })));
  test('are in the order of the file', () => {
    expect(place(['list', 0], ['a']).map(({ path }) => path)).toEqual(['a', 'list[0]']);
  });
  test('have the place and the line of their value', () => {
    expect(place(['list', 0])).toEqual([
      {
        rule,
        severity: 'error',
        remedy: expect.stringContaining('`docs/policy-file.md`'),
        file: 'f.yaml',
        place: { line: 4, column: 8 },
        path: 'list[0]',
        message,
        excerpt: { text: 'list: [x]', caret: 7 },
      },
    ]);
  });
  test('show no line that may hold an API key', () => {
    const excerpts = place(['identity', 'api_key'], ['identity', 'sha256'], [0, 'id']);
    expect(excerpts.map(({ excerpt }) => excerpt)).toEqual([undefined, undefined, undefined]);
  });
  test('show no line if they are about the whole file or a key that is missing at its top', () => {
    const [whole] = place([]);
    expect(whole).toMatchObject({ message: 'the file is wrong', excerpt: undefined });
    const missing = (path: string[]) =>
      yaml.diagnostics([{ rule: 'missing-key', path, message }])[0]?.excerpt;
    expect(missing(['default'])).toBeUndefined();
    expect(missing(['list', 'limits'])).toBeDefined();
  });
  test('use the offset of a draft', () => {
    const [found] = yaml.diagnostics([{ rule, path: ['a'], message, offset: 5 }]);
    expect(found?.place).toEqual({ line: 2, column: 1 });
  });
});
