import { z } from 'zod';
import { POLICY_MODES } from '../../core/policy.ts';
import { refusedBy } from '../refinement.ts';
import { shortName } from './key-list.ts';
import { limits, plans, units } from './limit-schema.ts';
import { matchSchema } from './match.ts';

const cost = units.default(1).describe('Units that one request takes.');

const mode = z
  .enum(POLICY_MODES)
  .default('enforce')
  .describe(
    'enforce denies requests. shadow counts, and reports what it would deny. off admits requests without counting.',
  );

export const onStoreFailure = z
  .enum(['allow', 'deny', 'local'])
  .optional()
  .describe(
    'If the store fails: allow requests, deny them, or count in this process alone. Default: the value of the file.',
  );

const onGatewayFailure = z
  .enum(['allow', 'deny'])
  .default('allow')
  .describe(
    'If the gateway is down or too slow, the proxy allows requests or refuses them with 503. The configuration of the proxy decides this, so print it with `headgate proxy-config`.',
  );

const policyName = shortName
  .refine((name) => name !== 'default' && name !== 'none', 'is reserved, choose another name')
  .describe('The name in logs, metrics and responses.');

export const policySchema = z
  .strictObject({
    name: policyName,
    match: matchSchema
      .optional()
      .describe(
        'The requests of this policy. A request must match all keys given here. Required unless always is true.',
      ),
    always: z
      .boolean()
      .default(false)
      .describe('Always applies, in addition to the matching policy.'),
    limits,
    plans,
    cost,
    mode,
    on_store_failure: onStoreFailure,
    on_gateway_failure: onGatewayFailure,
  })
  .refine((policy) => policy.always || policy.match !== undefined, {
    path: ['match'],
    message: 'is missing, say which requests this policy is for or set "always: true"',
    params: refusedBy('missing-key'),
  });

export const defaultSchema = z
  .strictObject({ limits, plans, cost, mode, on_store_failure: onStoreFailure })
  .describe('Applies to requests that match no policy. Required.');
