/**
 * Decides the requests of a log as a gateway with one policy file would: the production check, on a memory store, at the
 * time of the request.
 */
import { createSecretKey } from 'node:crypto';
import { type Check, createCheck, NO_EVENTS } from '../../core/check.ts';
import type { CheckRequest } from '../../core/check-request.ts';
import type { Decision } from '../../core/decision.ts';
import type { LimitDescriptor } from '../../core/descriptor.ts';
import type { ClientIdentity } from '../../core/identity.ts';
import { NO_OVERRIDES, type PolicyModes } from '../../core/overrides.ts';
import type { Limit, Policy } from '../../core/policy.ts';
import type { PolicySet } from '../../core/policy-set.ts';
import { SALT_BYTES, type Salts } from '../../core/salts.ts';
import type { Descriptor, TakeResult } from '../../core/store.ts';
import { MemoryStore } from '../../stores/memory/memory-store.ts';

/** Salts change so that nobody can be tracked. Here a client needs one name for the whole log, and no name leaves. */
const SALTS: Salts = {
  daily: {
    startMs: 0,
    current: createSecretKey(Buffer.alloc(SALT_BYTES)),
    previous: undefined,
  },
  long: undefined,
};

/** Half of what a Map can hold. Expired keys leave, so only clients of the last window count. */
const MAX_KEYS = 8_000_000;

export interface DeciderOptions {
  readonly policies: PolicySet;
  /** Policies that the log cannot evaluate are off. */
  readonly modes: PolicyModes;
  /** Limits that the log cannot evaluate are not counted. */
  readonly isEvaluated: (limit: Limit) => boolean;
  /** A request was counted against these limits. One limit may occur several times, next to each other. */
  readonly onCounted: (descriptors: readonly LimitDescriptor[]) => void;
  /** A policy in shadow mode would have denied. Called before the next turn of the event loop. */
  readonly onWouldDeny: (decision: Decision) => void;
}

export class Decider {
  readonly #check: Check;
  readonly #policies: PolicySet;
  #nowMs = 0;
  #client: ClientIdentity | undefined;
  #applied: readonly Policy[] = [];

  constructor(options: DeciderOptions) {
    const { policies, modes } = options;
    const store = new MemoryStore({ now: () => this.#nowMs, maxKeys: MAX_KEYS });
    const take = countingOnly(options, (descriptors) => store.take(descriptors));
    this.#policies = {
      ...policies,
      identify: (request, context) => {
        this.#client = policies.identify(request, context);
        return this.#client;
      },
      policiesFor: (...request) => {
        this.#applied = policies.policiesFor(...request);
        return this.#applied;
      },
    };
    this.#check = createCheck({
      store: { take },
      local: store,
      salts: { at: () => SALTS },
      overrides: { current: { ...NO_OVERRIDES, modes } },
      newId: () => '',
      events: { ...NO_EVENTS, wouldDeny: options.onWouldDeny },
    });
  }

  /** Milliseconds since the epoch; they must not go back. */
  decide(request: CheckRequest, nowMs: number): Decision {
    this.#nowMs = nowMs;
    this.#applied = NONE;
    // A store in this process answers without a promise.
    return this.#check(request, this.#policies, nowMs) as Decision;
  }

  /** The partition of the client of the last request. */
  get client(): string {
    return this.#client?.partition ?? '';
  }

  /** The policies that apply to the last request; none if it was decided before policies were looked at. */
  get applied(): readonly Policy[] {
    return this.#applied;
  }
}

const NONE: readonly Policy[] = [];

type Take<D> = (descriptors: readonly D[]) => TakeResult;

/** Takes from the limits that the log can evaluate. There is at least one, because policies without one are off. */
function countingOnly(
  { policies, isEvaluated, onCounted }: DeciderOptions,
  take: Take<LimitDescriptor>,
): Take<Descriptor> {
  const isAll = policies.policies
    .flatMap(({ limits, plans }) => [limits, ...plans.values()].flat())
    .every(isEvaluated);
  const takeSome: Take<LimitDescriptor> = (descriptors) => {
    const counted = descriptors.filter(({ source }) => isEvaluated(source));
    onCounted(counted);
    const { states, ...result } = take(counted);
    const found = states.values();
    return {
      ...result,
      states: descriptors.map(({ source }) =>
        isEvaluated(source) ? found.next().value : undefined,
      ),
    };
  };
  const takeAll: Take<LimitDescriptor> = (descriptors) => {
    onCounted(descriptors);
    return take(descriptors);
  };
  // The core describes limits, so every descriptor has its limit.
  return (isAll ? takeAll : takeSome) as Take<Descriptor>;
}
