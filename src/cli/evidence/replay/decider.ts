/**
 * Decides the requests of a log as a gateway with one policy file would: the production check, on a memory store, at the
 * time of the request.
 */
import { type Check, createCheck, UNOBSERVED } from '../../../gateway/core/check.ts';
import type { CheckRequest } from '../../../gateway/core/check-request.ts';
import type { Decision } from '../../../gateway/core/counting/decision.ts';
import type { LimitDescriptor } from '../../../gateway/core/counting/descriptor.ts';
import type { Reservation } from '../../../gateway/core/counting/reservation.ts';
import type { Descriptor, TakeResult } from '../../../gateway/core/counting/store.ts';
import type { ClientIdentity } from '../../../gateway/core/identity/identity.ts';
import type { SaltSource } from '../../../gateway/core/identity/salts.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { NO_OVERRIDES, type PolicyModes } from '../../../gateway/core/overrides.ts';
import { everyLimit, type Limit, type Policy } from '../../../gateway/core/policy.ts';
import { MemoryStore } from '../../../gateway/stores/memory/memory-store.ts';
import { costsNothing, createRefund } from './refunds.ts';

/** Half of what a Map can hold. Expired keys leave, so only clients of the last window count. */
const MAX_KEYS = 8_000_000;

export interface DeciderOptions {
  readonly policies: PolicySet;
  readonly salts: SaltSource;
  readonly modes: PolicyModes;
  readonly isEvaluated: (limit: Limit) => boolean;
}

export interface CheckedRequest {
  readonly decision: Decision;
  readonly wouldDeny: readonly Decision[];
  readonly partition: string;
  readonly applied: readonly Policy[];
  readonly counted: readonly LimitDescriptor[];
  /** Those of them that do not refund a request with the status of the entry. Undefined if no policy settles. */
  readonly charged?: readonly LimitDescriptor[] | undefined;
}

export class Decider {
  readonly #check: Check;
  readonly #policies: PolicySet;
  readonly #settles: boolean;
  readonly #refund: ReturnType<typeof createRefund>;
  #nowMs = 0;
  #client: ClientIdentity | undefined;
  #applied: readonly Policy[] = [];
  readonly #counted: LimitDescriptor[] = [];
  readonly #wouldDeny: Decision[] = [];
  #reservation: Reservation | undefined;

  constructor(options: DeciderOptions) {
    const { policies, modes, salts } = options;
    const store = new MemoryStore({ now: () => this.#nowMs, maxKeys: MAX_KEYS });
    const take = takingOnly(options, (descriptors) => {
      this.#counted.push(...descriptors);
      return store.take(descriptors);
    });
    this.#settles = policies.policies.some((policy) => policy.settles);
    this.#refund = createRefund(store);
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
      salts,
      overrides: { current: { ...NO_OVERRIDES, modes } },
      newId: () => '',
      issueToken: (reservation) => {
        this.#reservation = reservation;
        return '';
      },
      observer: { ...UNOBSERVED, wouldDeny: (decision) => this.#wouldDeny.push(decision) },
    });
  }

  /**
   * Milliseconds since the epoch; they must not go back. `status` is that of the answer. The result is valid until the next
   * request.
   */
  decide(request: CheckRequest, nowMs: number, status?: number): CheckedRequest {
    this.#nowMs = nowMs;
    this.#applied = NONE;
    this.#counted.length = 0;
    this.#wouldDeny.length = 0;
    this.#reservation = undefined;
    // A store in this process returns no promise, and policies in shadow mode are counted at once.
    const decision = this.#check(request, this.#policies, nowMs) as Decision;
    if (this.#reservation !== undefined) this.#refund(this.#reservation, status);
    return {
      decision,
      wouldDeny: this.#wouldDeny,
      partition: this.#client?.partition ?? '',
      applied: this.#applied,
      counted: this.#counted,
      charged: this.#settles
        ? this.#counted.filter(({ source }) => !costsNothing(source, status))
        : undefined,
    };
  }
}

const NONE: readonly Policy[] = [];

type Take<D> = (descriptors: readonly D[]) => TakeResult;

/** Takes from the limits that the log can evaluate. There is at least one, because policies without one are off. */
function takingOnly(
  { policies, isEvaluated }: DeciderOptions,
  take: Take<LimitDescriptor>,
): Take<Descriptor> {
  const isAll = policies.policies.flatMap(everyLimit).every(isEvaluated);
  const takeSome: Take<LimitDescriptor> = (descriptors) => {
    const { states, ...result } = take(descriptors.filter(({ source }) => isEvaluated(source)));
    const found = states.values();
    return {
      ...result,
      states: descriptors.map(({ source }) =>
        isEvaluated(source) ? found.next().value : undefined,
      ),
    };
  };
  // The core describes limits, so every descriptor has its limit.
  return (isAll ? take : takeSome) as Take<Descriptor>;
}
