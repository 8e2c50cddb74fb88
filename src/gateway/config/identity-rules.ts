/** About users, plans and keys that have no effect, or that clients choose. */
import { note, warning } from './rule-text.ts';

export const IDENTITY_RULES = {
  'credentials-as-user': warning(
    '`identity.user.header` is `authorization`, which clients set themselves. A client that changes its value counts as another user.',
    'Name a header that your authenticating proxy sets, such as `x-user`. For bearer tokens, set `identity.api_key.header: authorization` instead.',
  ),
  'plan-from-client': warning(
    '`identity.plan.header` is a header that clients set themselves: `authorization`, `proxy-authorization`, or that of the API key. So clients choose their plan.',
    'Name a header that your proxy sets in every request, such as `x-plan`.',
  ),
  'metadata-from-client': warning(
    '`identity.user` or `identity.plan` names metadata whose values clients write, such as what a filter of Envoy copies from headers. So clients choose who they are.',
    'Name metadata of a filter that verifies, such as `envoy.filters.http.jwt_authn`.',
  ),
  'keys-not-read': warning(
    'API keys are listed, and `identity.sources` does not list `api_key`.',
    'Add it to the sources, or remove the keys.',
  ),
  'user-not-read': warning(
    '`identity.user` names metadata, and `identity.sources` does not list `user`.',
    'Add it to the sources, or remove `identity.user`.',
  ),
  'plan-without-effect': warning(
    'No policy has `plans`, or no client can have the plan of `identity.plan`: it counts for listed keys, for users and for verified headers that a limit is per.',
    'Add `plans` to the policies, or `user` or `api_key` to the sources. Or remove `identity.plan`.',
  ),
  'plan-unknown': warning(
    'A listed key has a plan, and no policy has limits for this plan.',
    'Correct the name of the plan.',
  ),
  'plan-unheld': warning(
    'A policy has limits for a plan, no listed key has this plan, and neither Redis nor a proxy can give it to a client.',
    'Correct the name of the plan, or remove it.',
  ),
  'claim-with-dot': note(
    'A claim of `envoy.filters.http.jwt_authn` is one name with a dot. The filter keeps claims below the name of its `payload_in_metadata`.',
    'Write a list of names, such as `[payload, sub]`.',
  ),
} as const;
