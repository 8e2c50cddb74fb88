import { z } from 'zod';
import type { Rule } from './diagnostic.ts';

/** A RangeError that belongs to a rule other than `invalid-value`. */
export class Refusal extends RangeError {
  readonly rule: Rule;

  constructor(rule: Rule, message: string) {
    super(message);
    this.rule = rule;
  }
}

/** If the check throws a RangeError, its message becomes an issue of the schema. */
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

/** A text that passes the check. `meta` describes it in the JSON Schema. */
export function checkedText<R>(check: (text: string) => R, meta: z.core.GlobalMeta) {
  return z.string().meta(meta).transform(holds(check));
}

export function refusedBy(rule: Rule): { rule: Rule } {
  return { rule };
}

export function ruleOfRefusal({ params }: z.core.$ZodIssueCustom): Rule {
  return (params as Partial<ReturnType<typeof refusedBy>> | undefined)?.rule ?? 'invalid-value';
}
