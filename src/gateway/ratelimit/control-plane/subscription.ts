/** Does what envoyproxy/ratelimit does with CONFIG_TYPE=GRPC_XDS_SOTW. The last good configuration outlasts the control plane. */
import { existsSync } from 'node:fs';
import { LARGEST_MESSAGE_BYTES } from '../../config/settings/control-plane-forms.ts';
import type { RuleFile } from '../rules/rule.ts';
import type { AdsServer, StreamBounds } from './ads-stream.ts';
import {
  type Backoff,
  type Configuration,
  Discovery,
  RECONNECTION,
  REPETITION,
  waitAfter,
} from './discovery.ts';
import { lastGoodWriter, readLastGood } from './last-good.ts';
import type { Node } from './messages.ts';

export interface SubscriptionOptions extends Omit<AdsServer, 'bounds'> {
  readonly node: Node;
  /** Either puts a configuration into force and returns no mistakes, or keeps the one before. No files means no limits. */
  apply(files: readonly RuleFile[]): readonly string[];
  readonly events: SubscriptionEvents;
  readonly lastGood?: string | undefined;
  readonly timing?: Partial<Timing> | undefined;
}

interface SubscriptionEvents {
  connected(): void;
  disconnected(reason: string, retryInMs: number): void;
  applied(version: string): void;
  /** The one before stays in force. Comes once while the control plane repeats the same. */
  refused(version: string, mistakes: readonly string[]): void;
  restored(version: string): void;
  /** The file could not be used. A file that does not exist is no event. */
  notRestored(mistakes: readonly string[]): void;
  notKept(reason: string): void;
}

export interface Timing extends StreamBounds {
  readonly reconnection: Backoff;
  /** How long to wait with the reply to a response that brings nothing new. */
  readonly repetition: Backoff;
  /** How long a start waits for the control plane before it reads the file `lastGood`. */
  readonly restoreAfterMs: number;
}

const TIMING: Timing = {
  maxMessageBytes: LARGEST_MESSAGE_BYTES,
  connectWithinMs: 10_000,
  pingEveryMs: 6 * 60_000,
  pongWithinMs: 20_000,
  reconnection: RECONNECTION,
  repetition: REPETITION,
  restoreAfterMs: 2_000,
};

/** The first wait of a gateway that has no configuration yet, neither from the control plane nor from the file. */
const INITIAL_WITHOUT_LIMITS_MS = 500;

export class Subscription {
  readonly #options: SubscriptionOptions;
  readonly #timing: Timing;
  readonly #server: AdsServer;
  readonly #writer: ReturnType<typeof lastGoodWriter> | undefined;
  readonly #restoreTimer: NodeJS.Timeout;
  #retryTimer: NodeJS.Timeout | undefined;
  #discovery: Discovery;
  /** Failures since a configuration was applied. */
  #failed = 0;
  #hasLimits = false;
  #isRestored = false;

  constructor(options: SubscriptionOptions) {
    const { target, tls, headers, lastGood, timing, events } = options;
    this.#options = options;
    this.#timing = { ...TIMING, ...timing };
    this.#server = { target, tls, headers, bounds: this.#timing };
    this.#writer =
      lastGood === undefined
        ? undefined
        : lastGoodWriter(lastGood, ({ message }) => events.notKept(message));
    this.#restoreTimer = setTimeout(() => this.#restore(), this.#timing.restoreAfterMs);
    this.#discovery = this.#discover();
  }

  close(): void {
    clearTimeout(this.#restoreTimer);
    clearTimeout(this.#retryTimer);
    this.#discovery.close();
  }

  #discover(): Discovery {
    const { node, events } = this.#options;
    return new Discovery({
      server: this.#server,
      node,
      repetition: this.#timing.repetition,
      apply: (configuration) => this.#take(configuration),
      connected: () => events.connected(),
      refused: (version, mistakes) => {
        events.refused(version, mistakes);
        this.#restore();
      },
      ended: (reason) => this.#retry(reason),
    });
  }

  #take(configuration: Configuration): readonly string[] {
    const mistakes = this.#apply(configuration.files);
    if (mistakes.length > 0) return mistakes;
    this.#failed = 0;
    this.#options.events.applied(configuration.version);
    this.#writer?.(configuration);
    return mistakes;
  }

  #apply(files: readonly RuleFile[]): readonly string[] {
    try {
      const mistakes = this.#options.apply(files);
      if (mistakes.length === 0) this.#hasLimits = true;
      return mistakes;
    } catch (error) {
      // A configuration that breaks the compiler must not end the gateway.
      return [`the configuration cannot be used: ${(error as Error).message}`];
    }
  }

  #retry(reason: string): void {
    this.#restore();
    const waitMs = waitAfter(this.#reconnection, this.#failed++, Math.random());
    this.#retryTimer = setTimeout(() => {
      this.#discovery = this.#discover();
    }, waitMs);
    this.#options.events.disconnected(reason, waitMs);
  }

  get #reconnection(): Backoff {
    const { reconnection } = this.#timing;
    if (this.#hasLimits) return reconnection;
    const initialMs = Math.min(reconnection.initialMs, INITIAL_WITHOUT_LIMITS_MS);
    return { ...reconnection, initialMs };
  }

  /** Once, and only if the control plane was not faster. */
  #restore(): void {
    const { lastGood, events } = this.#options;
    if (lastGood === undefined || this.#hasLimits || this.#isRestored) return;
    this.#isRestored = true;
    if (!existsSync(lastGood)) return;
    try {
      const { version, files } = readLastGood(lastGood);
      const mistakes = this.#apply(files);
      if (mistakes.length === 0) events.restored(version);
      else events.notRestored(mistakes);
    } catch (error) {
      events.notRestored([(error as Error).message]);
    }
  }
}
