/** Checks of our own inside a schema. */
import { z } from 'zod';

/** A check that throws a RangeError becomes the issue with its message. */
export function holds<T, R>(check: (value: T) => R) {
  return (value: T, context: z.RefinementCtx): R => {
    try {
      return check(value);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
      return z.NEVER;
    }
  };
}
