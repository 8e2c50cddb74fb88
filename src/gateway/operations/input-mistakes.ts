/** Words what a schema of zod refuses. Inputs are parsed with `reportInput`. */
import type { z } from 'zod';

/** How the mistakes name the types of zod. */
const TYPES: Readonly<Partial<Record<string, string>>> = {
  string: 'text',
  int: 'a whole number',
  number: 'a whole number',
  boolean: 'true or false',
  record: 'an object',
  object: 'an object',
};

/** Every mistake as `field: mistake`. Never repeats what was written, which may be a key. */
export function mistakesIn({ issues }: z.ZodError): string {
  return issues.flatMap(mistakesOf).join('; ');
}

function mistakesOf(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `${key}: is not known`);
  const field = issue.path.join('.');
  return [field === '' ? wordsOf(issue) : `${field}: ${wordsOf(issue)}`];
}

function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.input === undefined) return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'string'
        ? `must have at most ${issue.maximum} characters`
        : `must be at most ${issue.maximum}`;
    case 'invalid_union':
      return 'must be text or a list of texts';
    default:
      return issue.message;
  }
}
