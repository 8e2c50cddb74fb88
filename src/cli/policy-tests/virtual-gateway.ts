/**
 * A gateway in virtual time: the production check with its policies, salts, counts and overrides, on a clock that a test
 * moves. It never reads the clock of the machine.
 */
import {
  type Check,
  type CheckOptions,
  createCheck,
  UNOBSERVED,
} from '../../gateway/core/check.ts';
import type { CheckRequest } from '../../gateway/core/check-request.ts';
import type { Decision } from '../../gateway/core/counting/decision.ts';
import type { LimitDescriptor } from '../../gateway/core/counting/descriptor.ts';
import type { Outcome as RequestOutcome } from '../../gateway/core/counting/outcome.ts';
import type { Settlement, SettleResult } from '../../gateway/core/counting/settlement.ts';
import { type Descriptor, StoreError, type TakeResult } from '../../gateway/core/counting/store.ts';
import type { PolicySet } from '../../gateway/core/matching/policy-set.ts';
import type { PolicyModes } from '../../gateway/core/overrides.ts';
import type { TraceEvent } from '../../gateway/core/trace.ts';
import { answerBy, type ExplainedAnswer } from '../../gateway/operations/explain.ts';
import { NO_KEYS } from '../../gateway/operations/no-keys.ts';
import type { Gateway } from '../../gateway/operations/running-gateway.ts';
import type { SettleVerdict } from '../../gateway/settlement/channel.ts';
import { localShare } from '../../gateway/stores/local-share.ts';
import { MemoryStore } from '../../gateway/stores/memory/memory-store.ts';
import { MemoryOverrideStore } from '../../gateway/stores/overrides/override.ts';
import { OverrideBook } from '../../gateway/stores/overrides/override-book.ts';
import { DerivedSalts } from '../../gateway/stores/salts/salt-sources.ts';
import type { Setting } from './policy-test.ts';
import type { TestedPolicies } from './tested-policies.ts';
import { virtualSettling } from './virtual-settlements.ts';

export interface VirtualGatewayOptions {
  readonly policies: TestedPolicies;
  readonly setting: Setting;
  onTake(descriptors: readonly LimitDescriptor[], result: TakeResult, modes: PolicyModes): void;
}

export interface Outcome {
  /** Its token is the same text in every run. */
  readonly decision: Decision;
  /** The real token. Undefined if the request reserved nothing. */
  readonly token: string | undefined;
  readonly answer: ExplainedAnswer;
  /** The names of policies in shadow mode that would have denied the request. */
  readonly wouldDeny: readonly string[];
  readonly trace: readonly TraceEvent[];
}

export class VirtualGateway {
  policies: TestedPolicies;
  readonly setting: Setting;
  readonly store: ReturnType<typeof virtualStore>;
  readonly #check: Check;
  readonly #tracedCheck: Check;
  readonly #render: ReturnType<typeof answerBy>;
  readonly #overrides: OverrideBook;
  readonly #salts = virtualSalts();
  readonly #settling: ReturnType<typeof virtualSettling>;
  #nowMs: number;
  #wouldDeny: string[] = [];
  #trace: TraceEvent[] = [];

  constructor({ policies, setting, onTake }: VirtualGatewayOptions) {
    const now = () => this.#nowMs;
    this.policies = policies;
    this.setting = setting;
    this.#nowMs = setting.startMs;
    this.#render = answerBy(setting.proxy);
    this.#overrides = new OverrideBook({
      overrideStore: new MemoryOverrideStore(now),
      now,
      onChange: () => {},
      onRestored: () => {},
    });
    this.store = virtualStore(now, setting.gateways, (descriptors, result) =>
      onTake(descriptors, result, this.#overrides.current.modes),
    );
    const { local } = this.store;
    this.#settling = virtualSettling({ store: this.store, local, policies: this, now });
    const checkOptions: CheckOptions = {
      store: this.store,
      local,
      salts: this.#salts,
      overrides: this.#overrides,
      newId: () => 'none',
      issueToken: (reservation) => this.#settling.issueToken(reservation),
      observer: { ...UNOBSERVED, wouldDeny: ({ policy }) => this.#wouldDeny.push(policy) },
    };
    this.#check = createCheck(checkOptions);
    this.#tracedCheck = createCheck({
      ...checkOptions,
      observer: { ...checkOptions.observer, step: (event) => this.#trace.push(event) },
    });
  }

  /** Those in force. */
  get current(): PolicySet {
    return this.policies.set;
  }

  /** `nowMs`: milliseconds since the epoch; it must not go back. */
  async advanceTo(nowMs: number): Promise<void> {
    this.#nowMs = nowMs;
    // A gateway has a timer for the end of an override, which virtual time does not move.
    if (this.#overrides.list().length > 0) await this.#overrides.refresh();
  }

  /** A trace costs more than the decision. */
  async decide(request: CheckRequest, isTraced: boolean): Promise<Outcome> {
    const check = isTraced ? this.#tracedCheck : this.#check;
    const { set } = this.policies;
    this.#wouldDeny = [];
    this.#trace = [];
    const { settleToken: token, ...decided } = await check(request, set, this.#nowMs);
    const decision = token === undefined ? decided : { ...decided, settleToken: SHOWN_TOKEN };
    // Policies in shadow mode count the request after it is decided.
    await new Promise((resolve) => setImmediate(resolve));
    const answer = this.#render(decision, decision.answers ?? set.answers, request.headers);
    return { decision, token, answer, wouldDeny: this.#wouldDeny, trace: this.#trace };
  }

  /** While the store is down, a gateway keeps the outcome, and settles it once the store is up. */
  async settle(token: string, outcome: RequestOutcome): Promise<SettleVerdict> {
    const verdict = this.#settling.settle(token, outcome, 'settle');
    const turn = new Promise<'waiting'>((resolve) => setImmediate(resolve, 'waiting'));
    const settled = await Promise.race([verdict, turn]);
    return typeof settled === 'object' ? settled.result : settled;
  }

  /** For what operators change. Nobody was denied before, so there is no denial to name. */
  operated(): Gateway {
    const none = { top: () => [], find: () => undefined, all: () => [] };
    return {
      policies: this,
      salts: this.#salts,
      ...{ overrides: this.#overrides, keys: NO_KEYS },
      ...{ store: this.store, reader: this.store.memory },
      peekLocally: (descriptors) => this.store.memory.peek(descriptors),
      denied: none,
      wouldBeDenied: none,
      forgetDenied: () => {},
      queryAll: async () => ({ replies: [], queried: 0 }),
      stats: () => Promise.reject(new Error('no operation of a test reads these')),
      knownGateways: () => 1,
      unseenHeaders: () => [],
      audit: () => {},
      get status(): never {
        throw new Error('no operation of a test reads this');
      },
      now: () => this.#nowMs,
    };
  }

  close(): void {
    this.#overrides.close();
  }
}

type OnTake = (descriptors: readonly LimitDescriptor[], result: TakeResult) => void;

const SHOWN_TOKEN = 'a-settle-token';

/** Counts in this process, and fails when a test says so. `gateways` share the limits while the store is down. */
function virtualStore(now: () => number, gateways: number, onTake: OnTake) {
  // No key is evicted: a test shall not depend on how many there are.
  const newMemory = () => new MemoryStore({ now, maxKeys: Number.POSITIVE_INFINITY });
  const memory = newMemory();
  const share = localShare(newMemory(), () => ({ count: gateways, rank: 0 }));
  const taken = (descriptors: readonly Descriptor[], result: TakeResult) => {
    // The core describes limits, so every descriptor has its limit.
    onTake(descriptors as readonly LimitDescriptor[], result);
    return result;
  };
  const local: typeof share = {
    ...share,
    take: (descriptors) => taken(descriptors, share.take(descriptors)),
  };
  /** Undefined while the store works. */
  let down: PromiseWithResolvers<void> | undefined;
  return {
    memory,
    local,
    setDown(isDown: boolean): void {
      down?.resolve();
      down = isDown ? Promise.withResolvers() : undefined;
    },
    /** Asynchronous, because only such a store may fail. */
    async take(descriptors: readonly Descriptor[]): Promise<TakeResult> {
      if (down !== undefined)
        throw new StoreError('connection', 'the test says that the store is down');
      return taken(descriptors, memory.take(descriptors));
    },
    /** Waits until the store is up, because a gateway tries again. */
    async settle(settlement: Settlement): Promise<SettleResult> {
      while (down !== undefined) await down.promise;
      return memory.settle(settlement);
    },
    reset: (keys: readonly string[], settled?: readonly string[]) => memory.reset(keys, settled),
  };
}

/** Fixed salts make a test print the same in every run. */
export function virtualSalts(): DerivedSalts {
  return new DerivedSalts('headgate policy tests');
}
