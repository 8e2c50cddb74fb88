import { type Decision, type Denied, decide, uncounted } from '../core/counting/decision.ts';
import { partitionOf } from '../core/counting/descriptor.ts';
import type { CountedGroup } from './counting/count.ts';
import type { Share } from './counting/plan.ts';

const NOT_LIMITED = uncounted('allow', 'not_enforced');

/** `groups` may be empty: then no limit applies. */
export function decisionOf(groups: readonly CountedGroup[], isDenied: boolean): Decision {
  return groups.length === 0 ? NOT_LIMITED : decide(groups, isDenied);
}

/** An operator blocked these descriptors. There is at least one. */
export function blockedBy(blocked: readonly Share[]): Decision {
  const limits = blocked.map(({ counted }) => counted.limit);
  const policy = limits[0]?.policy.name ?? 'none';
  return { ...NOT_LIMITED, verdict: 'deny', reason: 'blocked', policy, limits };
}

/** The client of a denied call is the descriptor that decided: the one that was counted, or else the first. */
export function deniedBy({ binding }: Decision, shares: readonly Share[]): Denied | undefined {
  const isBinding = ({ descriptors }: Share) => descriptors.some(({ key }) => key === binding?.key);
  const share = shares.find(isBinding) ?? shares[0];
  if (share === undefined) return undefined;
  const [client = '', previous] = share.descriptors.map(({ key }) => partitionOf(key)).reverse();
  const address = { daily: { current: client, previous }, long: undefined, wider: [] };
  return { client, isMadeUp: false, address, identity: 'descriptor' };
}
