/** Finds the clients of entries, each distinct address once. */
import { remember } from '../../../gateway/core/identity/remembered.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import type { LogEntry } from '../formats/log-format.ts';
import { createLogRequests, type LogRequests, type MappedField } from '../log-request.ts';
import { compileLogClient, type LogClient, threadOf } from './client-address.ts';
import { ipv4Bits } from './ipv4-bits.ts';

/** Parsing an IPv6 address costs as much as a decision. */
const REMEMBERED = 100_000;
const PROBE = '192.0.2.1';
const NONE: readonly string[] = [];

export class LogClients {
  readonly requestOf: LogRequests;
  readonly #threads: number;
  readonly #clientOf: ReturnType<typeof compileLogClient>;
  readonly #ofAddress = remember(REMEMBERED, (address) => this.#found(entryFrom(address)));
  /** Whether the file trusts the proxy that wrote the log, and no header can name another client. */
  readonly #believesAddresses: boolean;

  constructor(policies: PolicySet, mapping: readonly MappedField[], threads: number) {
    this.requestOf = createLogRequests(policies, mapping);
    this.#threads = threads;
    this.#clientOf = compileLogClient(policies.naming, threads);
    const request = createLogRequests(policies, [])(entryFrom(PROBE));
    this.#believesAddresses =
      mapping.length === 0 && request !== undefined && this.#clientOf(request).address === PROBE;
  }

  /** Undefined if the entry does not say which client sent it. */
  find(entry: LogEntry): LogClient | undefined {
    const { address, forwardedFor } = entry;
    if (address === undefined || forwardedFor !== undefined || !this.#believesAddresses) {
      return this.#found(entry);
    }
    // Such an address is written in its canonical spelling, and is its own network.
    if (ipv4Bits(address) !== undefined) {
      const thread = threadOf(address, this.#threads);
      return { address, isReported: true, name: address, wider: NONE, thread };
    }
    return this.#ofAddress(address);
  }

  #found(entry: LogEntry): LogClient | undefined {
    const request = this.requestOf(entry);
    return request && this.#clientOf(request);
  }
}

function entryFrom(address: string): LogEntry {
  const unknown = { host: undefined, forwardedFor: undefined, status: undefined, fields: [] };
  return { ...unknown, startMs: 0, method: 'GET', target: '/', address, userAgent: undefined };
}
