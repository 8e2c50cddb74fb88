import type { z } from 'zod';
import { hint } from '../closest-word.ts';
import type { Path } from '../diagnostic.ts';

export function sentence(issue: z.core.$ZodIssue, path: Path): string {
  switch (issue.code) {
    case 'invalid_type': {
      const wanted = aTypeName(issue.expected);
      if (/^(is missing|is empty|must be)/.test(issue.message)) return issue.message;
      if (issue.input === undefined) return `is missing, it must be ${wanted}`;
      // A file that is text as a whole is of another kind, and may be private.
      const remedy = path.length > 0 ? remedyFor(issue) : ', with lines such as "key: value"';
      const found =
        typeof issue.input === 'number' ? issue.input : aTypeName(typeName(issue.input));
      return `must be ${wanted}, not ${found}${remedy}`;
    }
    case 'invalid_value': {
      if (issue.message.startsWith('must be')) return issue.message;
      const values = issue.values.map(String);
      if (issue.input === undefined) return `is missing, it must be ${listed(values, 'or')}`;
      const words = issue.values.filter((value) => typeof value === 'string');
      const remedy = typeof issue.input === 'string' ? hint(issue.input, words) : '';
      return `must be ${listed(values, 'or')}, not ${shownValue(issue.input)}${remedy}`;
    }
    case 'too_small':
      return `must ${amount(issue.origin, 'at least', Number(issue.minimum))}`;
    case 'too_big':
      return `must ${amount(issue.origin, 'at most', Number(issue.maximum))}`;
    default:
      return issue.message;
  }
}

function remedyFor({ expected, input }: z.core.$ZodIssueInvalidType): string {
  if (expected === 'array' && typeof input === 'string' && /^-\S/.test(input)) {
    return `, write a blank behind each dash, as in "- ${input.slice(1).split(/\s/, 1)}"`;
  }
  if (expected === 'array' && typeof input !== 'object') return `, write [${inYaml(input)}]`;
  if (expected === 'array' && input !== null) return ', begin each entry with "- "';
  if (expected === 'object' && typeof input === 'string') {
    const [, method, path] = /^(?:([A-Z]+)\s+)?(\/\S*)$/.exec(input) ?? [];
    if (path !== undefined) {
      return `, write { ${method === undefined ? '' : `method: ${method}, `}path: ${path} }`;
    }
  }
  // `limits:[5/5min]` is text.
  const pair = typeof input === 'string' ? /^([a-z_]+):(\S)/.exec(input) : null;
  if (pair === null) return '';
  return `: a key needs a blank behind its colon, write "${pair[1]}: ${pair[2]}..."`;
}

/** Only rates such as `5/5min` are surely text without quotes. */
function inYaml(value: unknown): string {
  return typeof value === 'string' && !/^\d+\/\w+$/.test(value)
    ? JSON.stringify(value)
    : `${value}`;
}

function amount(origin: string, bound: string, count: number): string {
  if (origin === 'array') return `have ${bound} ${count} entr${count === 1 ? 'y' : 'ies'}`;
  if (origin === 'string') return `have ${bound} ${count} character${count === 1 ? '' : 's'}`;
  return `be ${bound} ${count}`;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
  null: 'empty',
};

/** Shows only the type of a map or list, which may be very long. */
function shownValue(value: unknown): string {
  return typeof value === 'object' ? aTypeName(typeName(value)) : JSON.stringify(value);
}

function aTypeName(type: string): string {
  return TYPE_WORDS[type] ?? type;
}

export function listed(words: readonly string[], joint = 'and'): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} ${joint} ${words.at(-1)}`;
}
