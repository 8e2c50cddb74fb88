/** Checks of our own inside a schema. */
import { z } from 'zod';
import type { Rule } from './rules.ts';

/** What a rule of its own refuses. */
export class Refusal extends RangeError {
  readonly rule: Rule;

  constructor(rule: Rule, message: string) {
    super(message);
    this.rule = rule;
  }
}

/** A check that throws a RangeError becomes the issue with its message. */
export function holds<T, R>(check: (value: T) => R) {
  return (value: T, context: z.RefinementCtx): R => {
    try {
      return check(value);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const params = error instanceof Refusal ? refusedBy(error.rule) : {};
      context.addIssue({ code: 'custom', message: error.message, params });
      return z.NEVER;
    }
  };
}

/** Parameters of an issue. */
export function refusedBy(rule: Rule): { rule: Rule } {
  return { rule };
}

export function ruleOfRefusal({ params }: z.core.$ZodIssueCustom): Rule {
  return (params as Partial<ReturnType<typeof refusedBy>> | undefined)?.rule ?? 'invalid-value';
}
