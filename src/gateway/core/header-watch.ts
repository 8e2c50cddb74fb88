/**
 * Reports a header that the policy file needs and that no request through a proxy has. If the proxy does not pass it on,
 * all its clients share one counter, and nothing else shows that. It may also be that no client sends the header.
 */

import type { CheckRequest, HeaderFields } from './check-request.ts';
import { type AddressSet, canonicalAddress } from './identity/address.ts';

export interface NeededHeader {
  readonly name: string;
  /** The networks of the CDN that sends it with every request; undefined if clients or the proxy send it. */
  readonly sentBy: AddressSet | undefined;
}

export interface NeedsHeaders {
  readonly neededHeaders: readonly NeededHeader[];
}

export interface UnseenHeader {
  readonly dialect: string;
  readonly header: string;
  readonly requests: number;
}

export interface HeaderWatchEvents {
  /** Called once for each dialect and header, until another policy file is loaded. */
  headerUnseen(unseen: UnseenHeader): void;
  /** Called once for each dialect and header, until another policy file is loaded. */
  headerArrived(dialect: string, header: string): void;
  headerSeen(dialect: string, header: string): void;
}

export const DOUBT_AFTER = 1_000;

export class HeaderWatch {
  readonly #events: HeaderWatchEvents;
  #set: NeedsHeaders | undefined;
  #proxies = new Map<string, WatchedProxy>();

  constructor(events: HeaderWatchEvents) {
    this.#events = events;
  }

  /** Call this for each request. Once all headers of a dialect were seen, a call costs one map look-up. */
  see(dialect: string, request: CheckRequest, set: NeedsHeaders): void {
    if (set !== this.#set) {
      this.#set = set;
      this.#proxies = new Map();
    }
    let proxy = this.#proxies.get(dialect);
    if (proxy === undefined) {
      proxy = new WatchedProxy(dialect, set.neededHeaders, this.#events);
      this.#proxies.set(dialect, proxy);
    }
    proxy.see(request);
  }

  unseen(set: NeedsHeaders): UnseenHeader[] {
    return set === this.#set ? [...this.#proxies.values()].flatMap((proxy) => proxy.unseen) : [];
  }
}

class WatchedProxy {
  readonly #dialect: string;
  readonly #events: HeaderWatchEvents;
  #awaited: readonly NeededHeader[];
  readonly #reported = new Set<NeededHeader>();
  #requests = 0;

  constructor(dialect: string, needed: readonly NeededHeader[], events: HeaderWatchEvents) {
    this.#dialect = dialect;
    this.#awaited = needed;
    this.#events = events;
  }

  get unseen(): UnseenHeader[] {
    return [...this.#reported].map((header) => this.#report(header));
  }

  see(request: CheckRequest): void {
    if (this.#awaited.length === 0) return;
    this.#requests++;
    for (const header of this.#awaited) if (isPresent(request.headers, header)) this.#seen(header);
    if (this.#requests % DOUBT_AFTER !== 0) return;
    for (const header of this.#awaited) this.#reportIfExpected(header, request);
  }

  #seen(header: NeededHeader): void {
    this.#awaited = this.#awaited.filter((each) => each !== header);
    this.#events.headerArrived(this.#dialect, header.name);
    if (this.#reported.delete(header)) this.#events.headerSeen(this.#dialect, header.name);
  }

  /** A header of a CDN is expected only if the CDN sent this request. Checking one request in a thousand is enough. */
  #reportIfExpected(header: NeededHeader, { addresses }: CheckRequest): void {
    if (this.#reported.has(header)) return;
    const sender = canonicalAddress(addresses.peer ?? addresses.client ?? '');
    const isExpected =
      header.sentBy === undefined || (sender !== undefined && header.sentBy(sender));
    if (!isExpected) return;
    this.#reported.add(header);
    this.#events.headerUnseen(this.#report(header));
  }

  #report({ name }: NeededHeader): UnseenHeader {
    return { dialect: this.#dialect, header: name, requests: this.#requests };
  }
}

/** Some proxies send every header that they know, with an empty value if the client did not send it. */
function isPresent(headers: HeaderFields, { name }: NeededHeader): boolean {
  return Object.hasOwn(headers, name) && headers[name] !== '' && headers[name] !== undefined;
}
