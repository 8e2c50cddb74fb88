import type { z } from 'zod';
import { closest, hint } from '../closest-word.ts';
import type { DiagnosticDraft, Path, Rule } from '../diagnostic.ts';
import { ruleOfRefusal } from '../refinement.ts';
import type { YamlFile } from '../yaml/yaml-file.ts';
import { listed, sentence } from './schema-sentences.ts';

/** Per validated part. More would take long to place, and nobody corrects more at a time. */
const MAX_MISTAKES = 100;
const MAX_UNKNOWN_KEYS = 50;

interface Part {
  readonly schema: z.ZodType;
  readonly at: Path;
  readonly yaml: YamlFile;
  /** Where in the schema the issues are, if they are those of an alternative. */
  readonly inside?: readonly PropertyKey[];
}

interface Target extends Pick<Part, 'at' | 'yaml'> {
  readonly mistakes: DiagnosticDraft[];
}

export const MAX_FILE_MISTAKES = 1_000;

/** The value as the schema reads it. Undefined if it has mistakes, or the file has too many. */
export function parsePart<S extends z.ZodType>(
  schema: S,
  value: unknown,
  { mistakes, ...place }: Target,
): z.output<S> | undefined {
  if (mistakes.length >= MAX_FILE_MISTAKES) return undefined;
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  mistakes.push(...mistakesFrom(result.error.issues, { schema, ...place }));
  return undefined;
}

function mistakesFrom(issues: readonly z.core.$ZodIssue[], part: Part): DiagnosticDraft[] {
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
  const named = issue.keys.slice(0, MAX_UNKNOWN_KEYS).map((key): DiagnosticDraft => {
    const message = `is not a known key${hintAt(key, known)}`;
    return {
      rule: 'unknown-key',
      offset: yaml.offsetOfKey(path, key),
      path: [...path, key],
      message,
    };
  });
  const left = issue.keys.length - MAX_UNKNOWN_KEYS;
  if (left <= 0) return named;
  return [...named, { rule: 'unknown-key', path, message: `has ${left} more unknown keys` }];
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
  return meant !== '' || known.length === 0 ? meant : `, known are ${listed(known)}`;
}

/** The alternative that the author probably meant: the one that has the right type and fails inside. */
function likeliestBranch(issue: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] {
  const meant = issue.errors.find((branch) =>
    branch.every((each) => each.path.length > 0 || each.code !== 'invalid_type'),
  );
  return meant ?? [{ code: 'custom', path: [], message: issue.message, input: issue.input }];
}

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
