/** Issues tokens for reservations, and settles them once for what the requests turned out to cost. */
import { randomBytes } from 'node:crypto';
import type { Reservation, ReservedPart } from '../core/counting/reservation.ts';
import type { Policy } from '../core/policy.ts';
import { type ApplyingOptions, createApply } from './applying.ts';
import type { Channel, Settle, SettleVerdict } from './channel.ts';
import { limitIndex, limitNames } from './limit-names.ts';
import type { SigningKeys } from './signing-keys.ts';
import { GATEWAY_LENGTH, openToken, sealToken, type TokenPart } from './token.ts';

export interface SettlingOptions extends Omit<ApplyingOptions, 'gateway'> {
  readonly policies: { readonly current: { readonly policies: readonly Policy[] } };
  readonly keys: SigningKeys;
  /** How long a token can be settled, milliseconds. */
  readonly lifeMs: number;
}

export function createSettling(options: SettlingOptions) {
  const { policies, keys, lifeMs, now, events } = options;
  /** A gateway that is started again is another one. */
  const gateway = randomBytes(GATEWAY_LENGTH).toString('base64url').slice(0, GATEWAY_LENGTH);
  let serial = 0;
  const { apply, retry, close } = createApply({ ...options, gateway });
  const refused = (channel: Channel, verdict: SettleVerdict, policy = 'none') => {
    events.counted(policy, channel, verdict);
    return verdict;
  };
  const settle: Settle = (token, outcome, channel) => {
    const opened = openToken(token, keys);
    if (typeof opened === 'string') return refused(channel, opened);
    const parts = knownParts(opened.parts, policies.current.policies);
    if (now() >= opened.endsMs) return refused(channel, 'ended', parts[0]?.limit.policy.name);
    if (parts.length < opened.parts.length) refused(channel, 'unknown_limit');
    return parts.length === 0 ? 'unknown_limit' : apply({ opened, parts, outcome, channel });
  };
  return {
    issueToken({ momentMs, mode, parts }: Reservation): string {
      // All parts of a policy follow one another.
      for (const [i, { limit }] of parts.entries()) {
        if (limit.policy !== parts[i - 1]?.limit.policy) events.reserved(limit.policy.name);
      }
      const endsMs = momentMs + lifeMs;
      serial = (serial + 1) >>> 0;
      return sealToken({ endsMs, gateway, serial, mode, parts: parts.map(namedPart) }, keys);
    },
    settle,
    retry,
    close,
  };
}

function namedPart({ limit, partition, units, momentMs }: ReservedPart): TokenPart {
  const name = limitNames(limit.policy).get(limit);
  if (name === undefined) throw new RangeError(`${limit.label} charges nothing afterwards`);
  return { name, partition, units, momentMs };
}

/** Those of limits that the file in force still has. */
function knownParts(parts: readonly TokenPart[], policies: readonly Policy[]): ReservedPart[] {
  const index = limitIndex(policies);
  const known: ReservedPart[] = [];
  for (const { name, partition, units, momentMs } of parts) {
    const limit = index.get(name);
    if (limit !== undefined) known.push({ limit, partition, units, momentMs });
  }
  return known;
}
