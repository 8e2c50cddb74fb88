/** Turns the issues of a zod schema into diagnostics that say what is wrong and what would be right. */
import type { z } from 'zod';
import { closest, hint } from '../closest-word.ts';
import type { DiagnosticDraft, Path } from '../diagnostic.ts';
import { ruleOfRefusal } from '../refinement.ts';
import type { Rule } from '../rules.ts';
import type { YamlFile } from '../yaml/yaml-file.ts';

/** Per validated part. More would take long to place, and nobody corrects more at a time. */
const MAX_MISTAKES = 100;
const MAX_UNKNOWN_KEYS = 50;

/** Where the validated part is in the file. */
interface Part {
  readonly schema: z.ZodType;
  readonly at: Path;
  readonly yaml: YamlFile;
  /** Where in the schema the issues are, if they are those of an alternative. */
  readonly inside?: readonly PropertyKey[];
}

export function mistakesFrom(issues: readonly z.core.$ZodIssue[], part: Part): DiagnosticDraft[] {
  const misspelled = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? meantKeys(issue, part) : [],
  );
  // A key that is misspelled is not missing.
  const isMeant = (issue: z.core.$ZodIssue) =>
    isMissing(issue) && misspelled.includes(JSON.stringify(issue.path));
  return draftsFrom(
    issues.filter((issue) => !isMeant(issue)),
    part,
  );
}

/** The paths of the known keys that unknown ones resemble, as JSON. */
function meantKeys(
  issue: z.core.$ZodIssueUnrecognizedKeys,
  { schema, inside = [] }: Part,
): string[] {
  const known = knownKeys(schema, [...inside, ...issue.path]);
  return issue.keys.slice(0, MAX_UNKNOWN_KEYS).flatMap((key) => {
    const meant = closest(key, known);
    return meant === undefined ? [] : [JSON.stringify([...issue.path, meant])];
  });
}

function draftsFrom(issues: readonly z.core.$ZodIssue[], part: Part): DiagnosticDraft[] {
  return issues.slice(0, MAX_MISTAKES).flatMap((issue): DiagnosticDraft[] => {
    const keys = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
    const path = [...part.at, ...keys];
    switch (issue.code) {
      case 'invalid_union':
        return mistakesFrom(likeliestBranch(issue), {
          ...part,
          at: path,
          inside: [...(part.inside ?? []), ...issue.path],
        });
      case 'unrecognized_keys':
        return unknownKeys(issue, path, part);
      case 'invalid_key': {
        const offset = part.yaml.offsetOfKey(path.slice(0, -1), String(path.at(-1)));
        const message = issue.issues[0]?.message ?? issue.message;
        return [{ rule: 'invalid-value', offset, path, message }];
      }
      default:
        return [{ rule: ruleOf(issue), path, message: sentence(issue, path) }];
    }
  });
}

function unknownKeys(
  issue: z.core.$ZodIssueUnrecognizedKeys,
  path: Path,
  { schema, yaml, inside = [] }: Part,
): DiagnosticDraft[] {
  const known = knownKeys(schema, [...inside, ...issue.path]);
  const rule = 'unknown-key';
  const named = issue.keys.slice(0, MAX_UNKNOWN_KEYS).map(
    (key) =>
      ({
        rule,
        offset: yaml.offsetOfKey(path, key),
        path: [...path, key],
        message: `is not a known key${hintAt(key, known)}`,
      }) as const,
  );
  const left = issue.keys.length - MAX_UNKNOWN_KEYS;
  if (left <= 0) return named;
  return [...named, { rule, path, message: `has ${left} more unknown keys` }];
}

function ruleOf(issue: z.core.$ZodIssue): Rule {
  if (issue.code === 'custom') return ruleOfRefusal(issue);
  return isMissing(issue) ? 'missing-key' : 'invalid-value';
}

function isMissing({ code, input }: z.core.$ZodIssue): boolean {
  return (code === 'invalid_type' || code === 'invalid_value') && input === undefined;
}

function hintAt(word: string, known: readonly string[]): string {
  if (word.startsWith('//')) return ': a comment begins with "#"';
  if (/^[\da-f]*:[\da-f:]*$/i.test(word))
    return ': an address that ends with ":" must be in quotes';
  const meant = hint(word, known);
  return meant !== '' || known.length === 0 ? meant : `, known are ${list(known)}`;
}

function sentence(issue: z.core.$ZodIssue, path: Path): string {
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
      if (issue.input === undefined) return `is missing, it must be ${list(values, 'or')}`;
      const words = issue.values.filter((value) => typeof value === 'string');
      const remedy = typeof issue.input === 'string' ? hint(issue.input, words) : '';
      return `must be ${list(values, 'or')}, not ${shownValue(issue.input)}${remedy}`;
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
  if (expected === 'array' && typeof input !== 'object') return `, write [${input}]`;
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

function amount(origin: string, bound: string, count: number): string {
  if (origin === 'array') return `have ${bound} ${count} entr${count === 1 ? 'y' : 'ies'}`;
  if (origin === 'string') return `have ${bound} ${count} character${count === 1 ? '' : 's'}`;
  return `be ${bound} ${count}`;
}

/** The alternative that the author probably meant: the one that has the right type and fails inside. */
function likeliestBranch(issue: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] {
  const meant = issue.errors.find((branch) =>
    branch.every((each) => each.path.length > 0 || each.code !== 'invalid_type'),
  );
  return meant ?? [{ code: 'custom', path: [], message: issue.message, input: issue.input }];
}

/** The keys that a schema knows at a path; empty if there is no map. */
function knownKeys(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const definition = (schema as z.ZodType).def as {
    type: string;
    shape?: Record<string, z.ZodType>;
    innerType?: z.ZodType;
    element?: z.ZodType;
    in?: z.ZodType;
    options?: z.ZodType[];
  };
  if (definition.type === 'union') {
    return (definition.options ?? []).flatMap((option) => knownKeys(option, path));
  }
  const inner = definition.innerType ?? definition.in;
  if (inner !== undefined) return knownKeys(inner, path);
  const [first, ...rest] = path;
  if (first === undefined) return Object.keys(definition.shape ?? {});
  const next = typeof first === 'number' ? definition.element : definition.shape?.[String(first)];
  return next === undefined ? [] : knownKeys(next, rest);
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

function list(words: readonly string[], joint = 'and'): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} ${joint} ${words.at(-1)}`;
}
