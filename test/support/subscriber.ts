/** A subscription to a control plane that remembers what happened, with waits short enough for tests. */
import { once } from 'node:events';
import type { StreamBounds } from '../../src/gateway/ratelimit/control-plane/ads-stream.ts';
import {
  Subscription,
  type SubscriptionOptions,
  type Timing,
} from '../../src/gateway/ratelimit/control-plane/subscription.ts';
import type { RuleFile } from '../../src/gateway/ratelimit/rules/rule.ts';
import { NODE_ID } from './control-plane.ts';

const HOUR_MS = 3_600_000;
/** No wait but those of a test ends during the test. */
const BOUNDS: StreamBounds = {
  maxMessageBytes: 100_000,
  connectWithinMs: HOUR_MS,
  pingEveryMs: HOUR_MS,
  pongWithinMs: HOUR_MS,
};
const TIMING: Timing = {
  ...BOUNDS,
  reconnection: { initialMs: 10, maxMs: 50, randomFactor: 0.5 },
  repetition: { initialMs: 10, maxMs: 50, randomFactor: 0 },
  restoreAfterMs: HOUR_MS,
};

export interface SubscriberOptions extends Partial<Omit<SubscriptionOptions, 'target'>> {
  readonly port: number;
  readonly host?: string;
}

export interface Subscriber extends Disposable {
  /** What happened, one line for each event: `connected`, `applied 1`, `disconnected: it ended the stream …`. */
  readonly events: readonly string[];
  /** The configurations that `apply` got, with those that it refused. */
  readonly offered: readonly (readonly RuleFile[])[];
  /** How long it waited each time before it connected again, in milliseconds. */
  readonly waitsMs: readonly number[];
  /** Resolves once there are so many events that start with the text; to the last of these. */
  event(start: string, count?: number): Promise<string>;
}

export function startSubscriber(options: SubscriberOptions): Subscriber {
  const { port, host = '127.0.0.1', timing, apply = () => [], ...others } = options;
  const events: string[] = [];
  const offered: (readonly RuleFile[])[] = [];
  const waitsMs: number[] = [];
  const happened = new EventTarget();
  const add = (event: string) => {
    events.push(event);
    happened.dispatchEvent(new Event('event'));
  };
  const subscription = new Subscription({
    target: { host, port },
    node: { id: NODE_ID },
    timing: { ...TIMING, ...timing },
    apply: (files) => {
      offered.push(files);
      return apply(files);
    },
    events: {
      connected: () => add('connected'),
      disconnected(reason, waitMs) {
        waitsMs.push(waitMs);
        add(`disconnected: ${reason}`);
      },
      applied: (version) => add(`applied ${version}`),
      refused: (version, mistakes) => add(`refused ${version}: ${mistakes.join('; ')}`),
      restored: (version) => add(`restored ${version}`),
      notRestored: (mistakes) => add(`not restored: ${mistakes.join('; ')}`),
      notKept: (reason) => add(`not kept: ${reason}`),
    },
    ...others,
  });
  return {
    events,
    offered,
    waitsMs,
    async event(start, count = 1) {
      for (;;) {
        const found = events.filter((event) => event.startsWith(start));
        if (found.length >= count) return found[count - 1] as string;
        await once(happened, 'event');
      }
    },
    [Symbol.dispose]: () => subscription.close(),
  };
}
