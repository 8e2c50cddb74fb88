/** What a proxy vouches for: users and plans. */
import { z } from 'zod';
import type { Vouched } from '../../core/identity/vouched.ts';
import { holds } from '../refinement.ts';
import { credentialHeader } from './header-names.ts';

const NAMESPACE = 'must be the namespace of a filter, such as envoy.filters.http.jwt_authn';
const CLAIM = 'must be a name or a list of names, as in [payload, sub]';
const claimName = z.string().min(1, CLAIM).max(128);

const vouchedKeys = {
  metadata: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/, NAMESPACE)
    .meta({ examples: ['envoy.filters.http.jwt_authn'] })
    .optional()
    .describe('In place of a header: metadata of this filter of Envoy, over gRPC.'),
  claim: z
    .union([claimName.transform((name) => [name]), z.array(claimName).min(1).max(16)], CLAIM)
    .meta({ examples: [['payload', 'sub']] })
    .optional()
    .describe('Where the value stands in the metadata: the names on the way to it.'),
};

/** `header`: what describes it. `byDefault`: the header if nothing is written. */
function vouched(header: string, byDefault?: string) {
  return z
    .strictObject({ header: credentialHeader.optional().describe(header), ...vouchedKeys })
    .transform(
      holds(({ header: written, metadata, claim }): Vouched => {
        const isNamed = metadata !== undefined || claim !== undefined;
        const name = written ?? (isNamed ? undefined : byDefault);
        if (name !== undefined && !isNamed) return { header: name };
        if (name !== undefined || metadata === undefined) {
          throw new RangeError('must have either header, or metadata and claim');
        }
        if (claim !== undefined) return { metadata, claim };
        throw new RangeError('has metadata without claim: add one, as in [payload, sub]');
      }),
    );
}

export const user = vouched(
  'The header that an authenticating proxy sets. headgate believes only trusted proxies. Default: x-user.',
  'x-user',
)
  .prefault({})
  .describe('The user, as authenticated by a proxy.');

export const plan = vouched(
  'The header that an authenticating proxy sets. It must be in verified_headers.',
).describe(
  'The plan of a client that a trusted proxy knows: of a listed key without a plan, a user, or a verified header. The plan of a listed key comes first.',
);
