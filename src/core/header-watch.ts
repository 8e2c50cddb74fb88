/**
 * Notices a header that the policy file needs and that no request through a proxy has. If the proxy does not pass it on,
 * all its clients share one counter, and nothing else shows that. It is a doubt, not a fault: perhaps no client sends it.
 */
import { type AddressSet, canonicalAddress } from './address.ts';
import type { CheckRequest, HeaderFields } from './check-request.ts';

/** A header that identity or a limit reads. */
export interface NeededHeader {
  /** In lower case. */
  readonly name: string;
  /** Networks of a CDN that send it with every request; undefined for one that clients or the proxy send. */
  readonly sentBy: AddressSet | undefined;
}

/** What a policy set says of it. */
export interface NeedsHeaders {
  readonly neededHeaders: readonly NeededHeader[];
}

/** A doubt: none of so many requests through the proxy of this dialect had the header. */
export interface UnseenHeader {
  readonly dialect: string;
  readonly header: string;
  /** Since the policy file was loaded. */
  readonly requests: number;
}

export interface HeaderWatchEvents {
  /** Called once for each dialect and header, until another policy file is loaded. */
  headerUnseen(doubt: UnseenHeader): void;
  /** Called when a request has a header that was reported as unseen. */
  headerSeen(dialect: string, header: string): void;
}

/** Requests without the header that make a doubt. */
export const DOUBT_AFTER = 1_000;

export class HeaderWatch {
  readonly #events: HeaderWatchEvents;
  #set: NeedsHeaders | undefined;
  #proxies = new Map<string, WatchedProxy>();

  constructor(events: HeaderWatchEvents) {
    this.#events = events;
  }

  /** Call this for each request. Once all headers of a dialect were seen, it costs one look-up in a map. */
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

  /** The doubts of now; none right after another policy file was loaded. */
  unseen(set: NeedsHeaders): UnseenHeader[] {
    return set === this.#set ? [...this.#proxies.values()].flatMap((proxy) => proxy.doubts) : [];
  }
}

class WatchedProxy {
  readonly #dialect: string;
  readonly #events: HeaderWatchEvents;
  #unseen: readonly NeededHeader[];
  readonly #told = new Set<NeededHeader>();
  #requests = 0;

  constructor(dialect: string, needed: readonly NeededHeader[], events: HeaderWatchEvents) {
    this.#dialect = dialect;
    this.#unseen = needed;
    this.#events = events;
  }

  get doubts(): UnseenHeader[] {
    return [...this.#told].map((header) => this.#doubt(header));
  }

  see(request: CheckRequest): void {
    if (this.#unseen.length === 0) return;
    this.#requests++;
    for (const header of this.#unseen) if (isThere(request.headers, header)) this.#seen(header);
    if (this.#requests % DOUBT_AFTER !== 0) return;
    for (const header of this.#unseen) this.#doubtOf(header, request);
  }

  #seen(header: NeededHeader): void {
    this.#unseen = this.#unseen.filter((each) => each !== header);
    if (this.#told.delete(header)) this.#events.headerSeen(this.#dialect, header.name);
  }

  /** What a CDN sends is missed only if the CDN sent this request. To ask that of one in a thousand is enough. */
  #doubtOf(header: NeededHeader, { addresses }: CheckRequest): void {
    if (this.#told.has(header)) return;
    const sender = canonicalAddress(addresses.peer ?? addresses.client ?? '');
    const isExpected =
      header.sentBy === undefined || (sender !== undefined && header.sentBy(sender));
    if (!isExpected) return;
    this.#told.add(header);
    this.#events.headerUnseen(this.#doubt(header));
  }

  #doubt({ name }: NeededHeader): UnseenHeader {
    return { dialect: this.#dialect, header: name, requests: this.#requests };
  }
}

/** Some proxies send every header that they know, empty where the client sent none. */
function isThere(headers: HeaderFields, { name }: NeededHeader): boolean {
  return Object.hasOwn(headers, name) && headers[name] !== '' && headers[name] !== undefined;
}
