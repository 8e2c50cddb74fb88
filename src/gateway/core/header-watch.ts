/**
 * Reports a header that the policy file needs and that no request through a proxy has. If the proxy does not pass it on,
 * all its clients share one counter, and nothing else shows that. It may also be that no client sends the header.
 */
import type { CheckRequest, HeaderFields } from './check-request.ts';
import { type AddressSet, canonicalAddress } from './identity/address.ts';
import { isMcpHeader, shouldHave } from './mcp/mcp-call.ts';

export interface NeededHeader {
  readonly name: string;
  /** The networks of the CDN that sends it with every request; undefined if clients or the proxy send it. */
  readonly sentBy: AddressSet | undefined;
}

export interface NeedsHeaders {
  readonly neededHeaders: readonly NeededHeader[];
  /** Whether policies for MCP calls have the path of the request. */
  isMcp(request: CheckRequest): boolean;
}

export interface UnseenHeader {
  readonly dialect: string;
  readonly header: string;
  /** Those that should have had it. */
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
      proxy = new WatchedProxy(dialect, set, this.#events);
      this.#proxies.set(dialect, proxy);
    }
    proxy.see(request);
  }

  unseen(set: NeedsHeaders): UnseenHeader[] {
    return set === this.#set ? [...this.#proxies.values()].flatMap((proxy) => proxy.unseen) : [];
  }
}

interface Awaited extends NeededHeader {
  readonly isOfCalls: boolean;
  requests: number;
  isReported: boolean;
}

class WatchedProxy {
  readonly #dialect: string;
  readonly #events: HeaderWatchEvents;
  readonly #set: NeedsHeaders;
  #awaited: readonly Awaited[];

  constructor(dialect: string, set: NeedsHeaders, events: HeaderWatchEvents) {
    this.#dialect = dialect;
    this.#events = events;
    this.#set = set;
    this.#awaited = set.neededHeaders.map((header) => ({
      ...header,
      ...{ isOfCalls: isMcpHeader(header.name), requests: 0, isReported: false },
    }));
  }

  get unseen(): UnseenHeader[] {
    return this.#awaited.filter(({ isReported }) => isReported).map((each) => this.#report(each));
  }

  see(request: CheckRequest): void {
    for (const each of this.#awaited) {
      if (isPresent(request.headers, each)) this.#seen(each);
      else if (!each.isOfCalls || this.#isCallFor(each, request)) this.#miss(each, request);
    }
  }

  /** The path comes last, because it takes longest to compare. */
  #isCallFor({ name }: Awaited, request: CheckRequest): boolean {
    const { method, headers } = request;
    return method === 'POST' && shouldHave(name, headers) && this.#set.isMcp(request);
  }

  #seen(header: Awaited): void {
    this.#awaited = this.#awaited.filter((each) => each !== header);
    this.#events.headerArrived(this.#dialect, header.name);
    if (header.isReported) this.#events.headerSeen(this.#dialect, header.name);
  }

  /** A header of a CDN is expected only if the CDN sent this request. Checking one request in a thousand is enough. */
  #miss(header: Awaited, { addresses }: CheckRequest): void {
    header.requests++;
    if (header.requests % DOUBT_AFTER !== 0 || header.isReported) return;
    const sender = canonicalAddress(addresses.peer ?? addresses.client ?? '');
    const isFromSender =
      header.sentBy === undefined || (sender !== undefined && header.sentBy(sender));
    if (!isFromSender) return;
    header.isReported = true;
    this.#events.headerUnseen(this.#report(header));
  }

  #report({ name, requests }: Awaited): UnseenHeader {
    return { dialect: this.#dialect, header: name, requests };
  }
}

/** Some proxies send every header that they know, with an empty value if the client did not send it. */
function isPresent(headers: HeaderFields, { name }: NeededHeader): boolean {
  return Object.hasOwn(headers, name) && headers[name] !== '' && headers[name] !== undefined;
}
