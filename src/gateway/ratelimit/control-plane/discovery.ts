/**
 * The state of the world protocol (envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol): each response is the whole
 * configuration. It is applied and acknowledged (ACK), or refused with the mistakes (NACK).
 */
import { printable } from '../../core/printable.ts';
import { MalformedMessage } from '../../protobuf/reader.ts';
import type { RuleFile } from '../rules/rule.ts';
import { type AdsServer, AdsStream } from './ads-stream.ts';
import {
  type DiscoveryResponse,
  NOTHING_RECEIVED,
  type Node,
  RATE_LIMIT_CONFIG,
  type Received,
  type Resource,
  readDiscoveryResponse,
  writeDiscoveryRequest,
} from './messages.ts';
import { readRateLimitConfig } from './rate-limit-config.ts';

export interface Configuration {
  /** What the control plane calls it. Envoy Gateway counts from 1 whenever it starts, as 1.9.1 showed. */
  readonly version: string;
  readonly files: readonly RuleFile[];
}

export interface DiscoveryOptions {
  readonly server: AdsServer;
  readonly node: Node;
  readonly repetition: Backoff;
  /** Returns the mistakes. None: the configuration is in force. */
  apply(configuration: Configuration): readonly string[];
  connected(): void;
  refused(version: string, mistakes: readonly string[]): void;
  ended(reason: string): void;
}

const MAX_MISTAKES = 20;
const LONGEST_MISTAKE = 500;

export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #stream: AdsStream;
  /**
   * A new stream starts without a version, although one may be in force: a restarted control plane may use the same version
   * for another configuration, and would not send it.
   */
  #received: Received = NOTHING_RECEIVED;
  #refusedVersion = '';
  /** How many responses, one after the other, brought nothing new: refused ones, and the version in force again. */
  #fruitless = 0;
  #pause: NodeJS.Timeout | undefined;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
    this.#stream = new AdsStream(options.server, {
      opened: () => {
        options.connected();
        this.#reply();
      },
      message: (bytes) => this.#read(bytes),
      ended: (reason) => {
        clearTimeout(this.#pause);
        options.ended(reason);
      },
    });
  }

  close(): void {
    clearTimeout(this.#pause);
    this.#stream.close();
  }

  #read(bytes: Buffer): void {
    const response = readMessage(() => readDiscoveryResponse(bytes));
    if (typeof response === 'string') {
      this.#stream.end(`it sent a malformed response: ${response}`);
    } else if (response.typeUrl !== RATE_LIMIT_CONFIG) {
      this.#stream.end(`it sent resources of the type "${response.typeUrl}"`);
    } else this.#take(response);
  }

  #take({ version, nonce, resources }: DiscoveryResponse): void {
    clearTimeout(this.#pause);
    const { files, mistakes } = filesOf(resources);
    const found = mistakes.length > 0 ? mistakes : this.#options.apply({ version, files });
    if (found.length === 0 && version !== this.#received.version) this.#fruitless = 0;
    if (found.length === 0) this.#received = { version, nonce };
    else this.#refuse({ ...this.#received, nonce }, version, shortened(found));
    this.#replyAfter(this.#fruitless++);
  }

  #refuse(received: Received, version: string, mistakes: readonly string[]): void {
    const refusal = mistakes.join('\n');
    const isRepeated = version === this.#refusedVersion && refusal === this.#received.refusal;
    this.#refusedVersion = version;
    this.#received = { ...received, refusal };
    if (!isRepeated) this.#options.refused(version, mistakes);
  }

  #replyAfter(fruitless: number): void {
    if (fruitless === 0) this.#reply();
    else {
      const waitMs = waitAfter(this.#options.repetition, fruitless - 1, 0);
      this.#pause = setTimeout(() => this.#reply(), waitMs);
    }
  }

  #reply(): void {
    this.#stream.send(writeDiscoveryRequest(this.#options.node, this.#received));
  }
}

function filesOf(resources: readonly Resource[]): { files: RuleFile[]; mistakes: string[] } {
  const files: RuleFile[] = [];
  const mistakes: string[] = [];
  for (const [i, { typeUrl, value }] of resources.entries()) {
    if (mistakes.length > MAX_MISTAKES) break;
    if (typeUrl !== RATE_LIMIT_CONFIG) {
      mistakes.push(`resource ${i + 1} has the type "${typeUrl}"`);
      continue;
    }
    const file = readMessage(() => readRateLimitConfig(value));
    if (typeof file === 'string') mistakes.push(`resource ${i + 1} is malformed: ${file}`);
    else files.push(file);
  }
  // Control planes made with go-control-plane send them in any order, and the order may decide which rule matches.
  files.sort((one, other) => Number(one.name > other.name) - Number(one.name < other.name));
  return { files, mistakes };
}

/** Returns what is wrong if the message is malformed. */
function readMessage<Message>(read: () => Message): Message | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedMessage) return error.message;
    throw error;
  }
}

function shortened(mistakes: readonly string[]): string[] {
  const shown = mistakes.slice(0, MAX_MISTAKES).map((mistake) => {
    const line = printable(mistake);
    return line.length > LONGEST_MISTAKE ? `${line.slice(0, LONGEST_MISTAKE)}…` : line;
  });
  const more = mistakes.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more`] : shown;
}

export interface Backoff {
  readonly initialMs: number;
  readonly maxMs: number;
  /** 0 to 1: which share of each wait is random, so that many clients do not return at the same moment. */
  readonly randomFactor: number;
}

/**
 * The numbers are those of envoyproxy/ratelimit (`XDS_CLIENT_BACKOFF_*` in src/settings/settings.go, f2fb157). There the
 * factor multiplies each wait, so the waits never grow. Here they double.
 */
export const RECONNECTION: Backoff = { initialMs: 10_000, maxMs: 60_000, randomFactor: 0.5 };

/**
 * The wait before the reply to a response that brings nothing new, except for the first. After each NACK, control planes made with
 * go-control-plane send what was refused again at once (pkg/cache/v3/simple.go of v0.14.1, createResponse: the version of
 * the NACK is not theirs), and nothing else before the next reply. Seen with Envoy Gateway 1.9.1.
 */
export const REPETITION: Backoff = { initialMs: 1_000, maxMs: 10_000, randomFactor: 0 };

/** 2^16 times any wait is longer than the maximum. */
const LARGEST_EXPONENT = 16;

/** `failed` counts the failures before this one. `random` is at least 0 and less than 1. */
export function waitAfter(backoff: Backoff, failed: number, random: number): number {
  const { initialMs, maxMs, randomFactor } = backoff;
  const longest = Math.min(maxMs, initialMs * 2 ** Math.min(failed, LARGEST_EXPONENT));
  return Math.round(longest * (1 - randomFactor * random));
}
