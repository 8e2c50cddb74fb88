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

interface WrittenVouched {
  readonly header?: string | undefined;
  readonly metadata?: string | undefined;
  readonly claim?: readonly string[] | undefined;
}

/** Throws a RangeError. */
function vouchedBy({ header, metadata, claim }: WrittenVouched): Vouched {
  if (header !== undefined && metadata === undefined && claim === undefined) return { header };
  if (header !== undefined || metadata === undefined) {
    throw new RangeError('must have either header, or metadata and claim');
  }
  if (claim !== undefined) return { metadata, claim };
  throw new RangeError('has metadata without claim: add one, as in [payload, sub]');
}

export const user = z
  .strictObject({
    header: credentialHeader
      .optional()
      .describe(
        'The header that an authenticating proxy sets. headgate believes only trusted proxies. Default: x-user.',
      ),
    ...vouchedKeys,
  })
  .transform(
    holds(({ header, ...written }: WrittenVouched) => {
      const isNamed = written.metadata !== undefined || written.claim !== undefined;
      return vouchedBy({ ...written, header: header ?? (isNamed ? undefined : 'x-user') });
    }),
  )
  .prefault({})
  .describe('The user, as authenticated by a proxy.');

export const plan = z
  .strictObject({
    header: credentialHeader
      .optional()
      .describe('The header that an authenticating proxy sets. It must be in verified_headers.'),
    ...vouchedKeys,
  })
  .transform(holds(vouchedBy))
  .describe(
    'The plan of a client that a trusted proxy knows: of a listed key without a plan, a user, or a verified header. The plan of a listed key comes first.',
  );
