import { z } from 'zod';

/** Secrets that callers send in a header. Every proxy passes on these characters unchanged. */
export const secretList = {
  expected:
    'at least 16 letters, digits or punctuation marks, without spaces; several are separated by commas',
  schema: z
    .string()
    .regex(/^[!-+\--~]{16,256}(,[!-+\--~]{16,256})*$/)
    .transform((list) => list.split(',')),
  fallback: [] as readonly string[],
  isSecret: true,
};
