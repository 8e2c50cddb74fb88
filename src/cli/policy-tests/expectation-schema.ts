/** Schema of `expect`: what a step expects of the decision, and of the answer to the proxy. */
import { z } from 'zod';
import type { Decision } from '../../gateway/core/counting/decision.ts';
import { duration, headerName, optional } from './values-schema.ts';

/** The compiler reports a reason that is missing. */
const REASONS: Readonly<Record<Decision['reason'], true>> = {
  within_limits: true,
  over_limit: true,
  malformed_path: true,
  malformed_host: true,
  malformed_mcp: true,
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
    contains: optional(z.string().min(1), 'A part of the body.'),
    json: optional(
      z.record(z.string(), z.unknown()),
      'Fields of the JSON body. It may have others.',
    ),
  })
  .refine(isNotEmpty, ifKeysAreKnown('must have contains or json'));

const headerValue = z.union(
  [z.string(), z.number(), z.null()],
  'must be text, a number, or null for no header',
);

const facts = z.strictObject({
  verdict: optional(verdict, 'allow or deny.'),
  policy: optional(z.string(), 'The policy that decided; none if no policy was looked at.'),
  reason: optional(
    z.enum(Object.keys(REASONS) as Decision['reason'][]),
    'Why the verdict is what it is.',
  ),
  would_deny: optional(
    z.string(),
    'A policy in shadow mode that would have denied the request; none if there is none.',
  ),
  remaining: optional(
    z.int().min(0),
    'What remains of the binding limit, as in X-RateLimit-Remaining.',
  ),
  retry_after: optional(duration, 'When to retry, as in Retry-After.'),
  status: optional(z.int().min(100).max(599), 'The status of the answer to the proxy.'),
  headers: optional(
    z.record(headerName, headerValue),
    'Headers of the answer to the proxy, by name. null: the header is absent.',
  ),
  body: optional(body, 'The body of the answer to the proxy.'),
});

export const expectSchema = z
  .union(
    [
      // The map is first, so that mistakes in a map are about its keys.
      facts
        .extend({
          not: optional(
            facts.refine(isNotEmpty, NOTHING_EXPECTED),
            'What must not be so, in the same form. Each entry counts by itself.',
          ),
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
