/** Checks what an operator sent against the schema of the operation, and words every mistake. */
import type { z } from 'zod';
import { OperationError } from './operation-error.ts';

const TYPES: Readonly<Partial<Record<string, string>>> = {
  string: 'text',
  int: 'a whole number',
  number: 'a whole number',
  boolean: 'true or false',
  record: 'an object',
  object: 'an object',
};

/** Throws an OperationError that lists every mistake as `field: mistake`. */
export function readInput<Input extends z.ZodObject>(
  schema: Input,
  input: unknown,
): z.output<Input> {
  const { success, data, error } = schema.safeParse(input, { reportInput: true });
  if (success) return data;
  throw new OperationError('invalid', error.issues.flatMap(mistakesOf).join('; '));
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
    case 'invalid_format':
      return 'must not contain control characters';
    case 'invalid_union':
      return 'must be text or a list of texts';
    default:
      return issue.message;
  }
}
