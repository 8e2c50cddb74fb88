/** Schema of `expect`: what a step expects of the decision, and of the answer to the proxy. */
import { z } from 'zod';
import type { Decision } from '../../gateway/core/counting/decision.ts';
import { duration, headerName } from './values-schema.ts';

/** The compiler reports a reason that is missing. */
const REASONS: Readonly<Record<Decision['reason'], true>> = {
  within_limits: true,
  over_limit: true,
  malformed_path: true,
  malformed_host: true,
  ambiguous_identity: true,
  store_failure: true,
  exempt: true,
  blocked: true,
  not_enforced: true,
};

const verdict = z.enum(['allow', 'deny']);

function isNotEmpty(value: object): boolean {
  return Object.keys(value).length > 0;
}

/** A map with only unknown keys seems empty, but these are the mistake. */
function ifKeysAreKnown(message: string) {
  return { message, when: ({ issues }: z.core.ParsePayload) => issues.length === 0 };
}

const NOTHING_EXPECTED = ifKeysAreKnown('must say what is expected, such as "verdict: deny"');

const body = z
  .strictObject({
    contains: z.string().min(1).optional().describe('A part of the body.'),
    json: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Fields of the JSON body. It may have others.'),
  })
  .refine(isNotEmpty, ifKeysAreKnown('must have contains or json'));

const facts = z.strictObject({
  verdict: verdict.optional().describe('allow or deny.'),
  policy: z
    .string()
    .optional()
    .describe('The policy that decided; none if no policy was looked at.'),
  reason: z
    .enum(Object.keys(REASONS) as Decision['reason'][])
    .optional()
    .describe('Why the verdict is what it is.'),
  would_deny: z
    .string()
    .optional()
    .describe('A policy in shadow mode that would have denied the request; none if there is none.'),
  remaining: z
    .int()
    .min(0)
    .optional()
    .describe('What remains of the binding limit, as in X-RateLimit-Remaining.'),
  retry_after: duration.optional().describe('When to retry, as in Retry-After.'),
  status: z.int().min(100).max(599).optional().describe('The status of the answer to the proxy.'),
  headers: z
    .record(
      headerName,
      z.union([z.string(), z.number(), z.null()], 'must be text, a number, or null for no header'),
    )
    .optional()
    .describe('Headers of the answer to the proxy, by name. null: the header is absent.'),
  body: body.optional().describe('The body of the answer to the proxy.'),
});

export const expectSchema = z
  .union(
    [
      // The map is first, so that mistakes in a map are about its keys.
      facts
        .extend({
          not: facts
            .refine(isNotEmpty, NOTHING_EXPECTED)
            .optional()
            .describe('What must not be so, in the same form. Each entry counts by itself.'),
        })
        .refine(isNotEmpty, NOTHING_EXPECTED),
      verdict.transform((only) => ({ verdict: only })),
    ],
    'must be allow, deny, or a map such as { verdict: deny, policy: login }',
  )
  .describe('What is expected of the decision and of the answer.');

export type Facts = z.output<typeof facts>;
export interface Expectation extends Facts {
  readonly not?: Facts | undefined;
}
