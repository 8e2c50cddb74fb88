/** A gateway in this process, made of the same parts as one that counts in memory, with the operations on it. */
import { createCheck, NO_EVENTS } from '../../src/core/check.ts';
import type { PolicySet } from '../../src/core/policy-set.ts';
import { Denials } from '../../src/denials/denials.ts';
import { answerQuery } from '../../src/operations/denials.ts';
import type { OutputOf } from '../../src/operations/operation.ts';
import type { OPERATIONS, OperationName } from '../../src/operations/operation-table.ts';
import { createOperate } from '../../src/operations/operations.ts';
import { OverrideBook } from '../../src/operations/override-book.ts';
import type { Gateway } from '../../src/operations/running-gateway.ts';
import { LocalShare } from '../../src/stores/local-share.ts';
import { MemoryStore } from '../../src/stores/memory/memory-store.ts';
import { MemoryOverrideStore } from '../../src/stores/override-store.ts';
import type { OperatorAction } from '../../src/telemetry/events/operator-events.ts';
import { checkRequest, SALTS } from './requests.ts';

export interface OperatedOptions {
  readonly policies: PolicySet;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** What another gateway answers to every query. */
  readonly peerAnswers?: readonly unknown[];
  /** Gateways that do not answer. */
  readonly silentGateways?: number;
}

export function operatedGateway(options: OperatedOptions) {
  const { policies, now, peerAnswers = [], silentGateways = 0 } = options;
  const audit: OperatorAction[] = [];
  const memory = new MemoryStore({ now, maxKeys: 10_000 });
  const local = new LocalShare(memory, () => ({ count: 1, rank: 0 }));
  const overrideStore = new MemoryOverrideStore(now);
  const overrides = new OverrideBook({
    ...{ overrideStore, now },
    onChange: () => {},
    onRestored: () => {},
  });
  const denials = new Denials({ now, writeDenied: () => {}, writeWouldBeDenied: () => {} });
  const salts = { at: () => SALTS };
  const gateway: Gateway = {
    ...{ policies: { current: policies }, salts, overrides, now },
    store: memory,
    reader: memory,
    peekLocally: (descriptors) => local.peek(descriptors),
    denied: denials.enforced.clients,
    wouldBeDenied: denials.shadow.clients,
    async queryAll(query) {
      const answers = [await answerQuery(gateway, query), ...peerAnswers];
      return { answers, asked: answers.length + silentGateways };
    },
    stats: async () => ({
      store: 'memory',
      gateways: 1,
      keyspace: { activeWindows: memory.size, sampledKeys: memory.size, isExact: true },
      servers: [],
    }),
    unseenHeaders: () => [],
    audit: (action) => void audit.push(action),
  };
  const check = createCheck({
    ...{ store: memory, local, salts, overrides },
    newId: (decision, denied, isShadow) => denials.name(decision, denied, isShadow),
    events: { ...NO_EVENTS, wouldDeny: (decision) => denials.wouldDeny(decision) },
  });
  const operate = createOperate(gateway);
  return {
    ...{ audit, gateway, overrides, overrideStore },
    /** Checks a request as the server does. */
    async visit(parts: Parameters<typeof checkRequest>[0]) {
      const decision = await check(checkRequest(parts), policies, now());
      denials.decided(decision, 'envoy', 1);
      return decision;
    },
    operate: async <Name extends OperationName>(name: Name, input: unknown = {}) =>
      (await operate(name, input)) as OutputOf<(typeof OPERATIONS)[Name]>,
    close() {
      overrides.close();
      denials.close();
    },
  };
}
