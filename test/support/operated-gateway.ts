/** A gateway in this process, made of the same parts as one that counts in memory, with the operations on it. */
import { withKeys } from '../../src/gateway/app/operated-gateway.ts';
import { createCheck, UNOBSERVED } from '../../src/gateway/core/check.ts';
import type { PolicySet } from '../../src/gateway/core/matching/policy-set.ts';
import { createDenials } from '../../src/gateway/denials/denials.ts';
import type { OperationName, Output } from '../../src/gateway/operations/operation-table.ts';
import { createOperate, replyTo } from '../../src/gateway/operations/operations.ts';
import {
  createRecentActions,
  type Gateway,
  type GatewayStatus,
} from '../../src/gateway/operations/running-gateway.ts';
import { localShare } from '../../src/gateway/stores/local-share.ts';
import { MemoryStore } from '../../src/gateway/stores/memory/memory-store.ts';
import { MemoryOverrideStore } from '../../src/gateway/stores/overrides/override.ts';
import { OverrideBook } from '../../src/gateway/stores/overrides/override-book.ts';
import { DecisionTally } from '../../src/gateway/telemetry/decisions/decision-events.ts';
import { TrafficHistory } from '../../src/gateway/telemetry/decisions/traffic-history.ts';
import type { OperatorAction } from '../../src/gateway/telemetry/operators.ts';
import { ReportedOutcomes } from '../../src/gateway/telemetry/reported-outcomes.ts';
import { checkRequest, SALTS } from './requests.ts';
import { storedKeys } from './stored-keys.ts';

export interface OperatedOptions {
  readonly policies: PolicySet;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** What another gateway answers to every query. */
  readonly peerAnswers?: readonly unknown[];
  /** Gateways that do not answer. */
  readonly silentGateways?: number;
  readonly store?: ReturnType<GatewayStatus['store']>;
  readonly policyFile?: GatewayStatus['policyFile'];
  readonly proxyFaults?: GatewayStatus['proxyFaults'];
}

export function operatedGateway(options: OperatedOptions) {
  const { policies, now, peerAnswers = [], silentGateways = 0 } = options;
  const { store = { isDegraded: false, sinceMs: now(), reason: undefined, lapses: undefined } } =
    options;
  const {
    policyFile = { digest: 'a'.repeat(64), history: { sinceMs: now(), refused: undefined } },
  } = options;
  const { proxyFaults = { untrustedMs: undefined, refusedMs: undefined } } = options;
  const keys = storedKeys();
  const visible = withKeys(policies, keys);
  const audit: OperatorAction[] = [];
  const memory = new MemoryStore({ now, maxKeys: 10_000 });
  const local = localShare(memory, () => ({ count: 1, rank: 0 }));
  const overrideStore = new MemoryOverrideStore(now);
  const overrides = new OverrideBook({
    ...{ overrideStore, now },
    onChange: () => {},
    onRestored: () => {},
  });
  const denials = createDenials({
    now,
    idOf: () => undefined,
    writeDenied: () => {},
    writeWouldBeDenied: () => {},
  });
  const salts = { at: () => SALTS };
  const actions = createRecentActions(now);
  const tally = new DecisionTally();
  const history = new TrafficHistory(() => tally.totals(), now());
  const outcomes = new ReportedOutcomes();
  const settlements = {
    heard: (policy: string, atMs: number) => outcomes.heard(policy, atMs),
    latest: () => outcomes.latest(),
    overdue: () => outcomes.overdue(now(), 900_000),
  };
  const gateway: Gateway = {
    ...{ policies: { current: visible }, salts, overrides, keys, now },
    store: memory,
    reader: memory,
    peekLocally: (descriptors) => local.peek(descriptors),
    denied: denials.enforced.clients,
    wouldBeDenied: denials.shadow.clients,
    forgetDenied: (keys) => denials.reset(keys),
    async queryAll(query) {
      const replies = [await replyTo(gateway, query), ...peerAnswers];
      return { replies, queried: replies.length + silentGateways };
    },
    stats: async () => ({
      store: 'memory',
      keyspace: { activeWindows: memory.size, sampledKeys: memory.size, isExact: true },
      servers: [],
    }),
    knownGateways: () => 1,
    unseenHeaders: () => [],
    audit(action, isConfirmed) {
      audit.push(action);
      actions.add(action, isConfirmed);
    },
    status: {
      isWorker: false,
      host: 'gateway-1',
      traffic: history,
      actions,
      storeKind: 'memory',
      store: () => store,
      storeVersion: async () => undefined,
      policyFile,
      proxyFaults,
      settlements,
    },
  };
  const check = createCheck({
    ...{ store: memory, local, salts, overrides, keys },
    newId: (decision, denied, isShadow) => denials.name(decision, denied, isShadow),
    observer: {
      ...UNOBSERVED,
      wouldDeny(decision) {
        tally.addShadow(decision);
        denials.wouldDeny(decision);
      },
    },
  });
  const operate = createOperate(gateway);
  return {
    ...{ audit, gateway, keys, overrides, overrideStore, history, outcomes },
    /** Checks a request as the server does. */
    async visit(parts: Parameters<typeof checkRequest>[0]) {
      const decision = await check(checkRequest(parts), policies, now());
      tally.add(decision);
      denials.decided(decision, 'envoy', 1);
      return decision;
    },
    operate: async <Name extends OperationName>(name: Name, input: unknown = {}) =>
      (await operate(name, input)) as Output<Name>,
    close() {
      overrides.close();
      denials.close();
    },
  };
}
