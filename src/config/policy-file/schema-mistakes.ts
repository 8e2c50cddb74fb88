/** Turns what zod found into sentences that name what is wrong and what would be right. */
import type { z } from 'zod';
import { hint } from '../closest-word.ts';
import { ruleOfRefusal } from '../refinement.ts';
import type { Rule } from '../rules.ts';
import type { LocatedRemark } from '../unplaced-diagnostic.ts';
import type { Path, YamlText } from '../yaml-text.ts';

/** Of one part of a file: nobody mends more at a time, and finding the place of each takes some. */
const MOST_MISTAKES = 100;
/** A file with more of them is no policy file, and looking up the place of each takes time. */
const MOST_UNKNOWN_KEYS = 50;
/** `at` is where the validated part stands in the file. */
export function mistakesFrom(
  issues: readonly z.core.$ZodIssue[],
  schema: z.ZodType,
  at: Path,
  yaml: YamlText,
): LocatedRemark[] {
  return issues.slice(0, MOST_MISTAKES).flatMap((issue) => {
    const path = [
      ...at,
      ...issue.path.map((part) => (typeof part === 'number' ? part : String(part))),
    ];
    if (issue.code === 'invalid_union') {
      return mistakesFrom(likeliestBranch(issue), schema, path, yaml);
    }
    if (issue.code === 'unrecognized_keys') {
      const known = knownKeys(schema, issue.path);
      const rule = 'unknown-key' as const;
      const left = issue.keys.length - MOST_UNKNOWN_KEYS;
      const more =
        left > 0
          ? [{ rule, offset: yaml.offsetOf(path), path, message: `has ${left} more unknown keys` }]
          : [];
      const named = issue.keys.slice(0, MOST_UNKNOWN_KEYS).map((key) => ({
        rule,
        offset: yaml.offsetOfKey(path, key),
        path: [...path, key],
        message: `is not a known key${hintAt(key, known)}`,
      }));
      return [...named, ...more];
    }
    if (issue.code === 'invalid_key') {
      const offset = yaml.offsetOfKey(path.slice(0, -1), String(path.at(-1)));
      const message = issue.issues[0]?.message ?? issue.message;
      return [{ rule: 'invalid-value', offset, path, message }];
    }
    return [{ rule: ruleOf(issue), offset: yaml.offsetOf(path), path, message: sentence(issue) }];
  });
}

function ruleOf(issue: z.core.$ZodIssue): Rule {
  if (issue.code === 'custom') return ruleOfRefusal(issue);
  const isTyped = issue.code === 'invalid_type' || issue.code === 'invalid_value';
  return isTyped && issue.input === undefined ? 'missing-key' : 'invalid-value';
}

function hintAt(word: string, known: readonly string[]): string {
  const meant = hint(word, known);
  return meant !== '' || known.length === 0 ? meant : `, known are ${list(known)}`;
}

function sentence(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const wanted = aTypeName(issue.expected);
      if (issue.message.startsWith('is missing')) return issue.message;
      if (issue.input === undefined) return `is missing, it must be ${wanted}`;
      const remedy =
        issue.expected === 'array' && typeof issue.input !== 'object'
          ? `, write [${issue.input}]`
          : '';
      const found =
        typeof issue.input === 'number' ? issue.input : aTypeName(typeName(issue.input));
      return `must be ${wanted}, not ${found}${remedy}`;
    }
    case 'invalid_value': {
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

function amount(origin: string, bound: string, count: number): string {
  if (origin === 'array') return `have ${bound} ${count} entr${count === 1 ? 'y' : 'ies'}`;
  if (origin === 'string') return `have ${bound} ${count} character${count === 1 ? '' : 's'}`;
  return `be ${bound} ${count}`;
}

/** Of the alternatives, the one that failed inside rather than as a whole: that is what was meant. */
function likeliestBranch(issue: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] {
  const meant = issue.errors.find((branch) =>
    branch.every((each) => each.path.length > 0 || each.code !== 'invalid_type'),
  );
  return meant ?? [{ code: 'custom', path: [], message: issue.message, input: issue.input }];
}

/** The keys that an object schema knows at a path; none where the path leads elsewhere. */
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

/** A map or a list by its kind: it may be endless. */
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
