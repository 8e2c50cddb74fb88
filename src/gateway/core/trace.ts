/** What a check compares and finds, for `explain`. Ordinary requests have no trace. */
import type { ForwardedHeader } from './check-request.ts';
import type { QuotaState } from './counting/store.ts';
import type { ClientAccess, Listed } from './identity/access-lists.ts';
import type { Vouched } from './identity/vouched.ts';
import type { Partition, PolicyMode } from './policy.ts';

export type Trace = (event: TraceEvent) => void;

export type TraceEvent =
  | ProxyEvent
  /** From a trusted proxy, before any list of forwarded addresses is read. */
  | { readonly type: 'reported-address'; readonly address: string | undefined }
  | ForwardedListIgnoredEvent
  | ForwardedEntryEvent
  | AddressHeaderEvent
  | ClientAddressEvent
  | IdentitySourceEvent
  | PlanEvent
  /** The store has the key, but it has ended, at this time in milliseconds since the epoch. */
  | { readonly type: 'key-ended'; readonly id: string; readonly endsMs: number }
  /** The store lists keys, and none is looked up here: without a gateway, for example. */
  | { readonly type: 'keys-not-looked-up' }
  /** The store lists keys, and it is not known whether it has this one. */
  | { readonly type: 'key-unread' }
  | AccessEvent
  /** Every partition by which a list or an override can name the client. */
  | { readonly type: 'client-names'; readonly names: readonly string[] }
  | { readonly type: 'ambiguous-header'; readonly header: string }
  | PathEvent
  /** A sentence about the headers of a request to an MCP server whose path has policies for its calls. */
  | { readonly type: 'mcp-call'; readonly what: string }
  /** The proxy did not send the target of the request, so the strictest policy applies. */
  | { readonly type: 'path-unknown'; readonly policy: string }
  | PolicyEvent
  | LimitEvent
  | QuotaEvent;

interface ProxyEvent {
  readonly type: 'proxy';
  readonly address: string;
  /** The trusted range that contains the address; undefined for a proxy that is not trusted. */
  readonly trustedBy: string | undefined;
}

export interface ForwardedListIgnoredEvent {
  readonly type: 'forwarded-list-ignored';
  readonly header: ForwardedHeader;
  readonly reason: 'no-reported-address' | 'loopback' | 'untrusted';
  readonly reported: string | undefined;
}

export interface ForwardedEntryEvent {
  readonly type: 'forwarded-entry';
  readonly header: ForwardedHeader;
  readonly entry: string;
  /** Undefined for an entry that is not an address: the walk ends at it. */
  readonly address: string | undefined;
  readonly writtenBy: string;
}

export interface AddressHeaderEvent {
  readonly type: 'address-header';
  readonly header: string;
  readonly result:
    | { readonly status: 'absent' }
    | { readonly status: 'set-by-proxy' }
    | { readonly status: 'set-by-network'; readonly address: string; readonly range: string }
    | { readonly status: 'not-one-address' }
    | { readonly status: 'not-allowed'; readonly peer: string | undefined };
}

interface ClientAddressEvent {
  readonly type: 'client-address';
  /** Undefined if the proxy reports none: then the proxy's address is counted. */
  readonly address: string | undefined;
  readonly proxy: string;
}

export interface IdentitySourceEvent {
  readonly type: 'identity-source';
  /** `api_key`, `user`, `ip` or the kind of an address header. */
  readonly source: string;
  readonly result: 'used' | 'outranked' | 'absent';
  readonly isUnverified: boolean;
}

/** What names a plan for the client: its listed key, or the proxy, if the policy file says how. */
export interface PlanEvent {
  readonly type: 'plan';
  /** Undefined if the proxy names none. */
  readonly plan: string | undefined;
  readonly from: 'policy file' | 'store' | Vouched;
  /** Why the plan does not count; undefined if it does. */
  readonly ignored: 'untrusted-proxy' | 'unknown-client' | 'outranked' | undefined;
}

export interface AccessEvent {
  readonly type: 'access';
  readonly access: ClientAccess | undefined;
  /** The entries of the policy file for the address, then for the key. */
  readonly listed: readonly Listed[];
  /** The address is that of a trusted proxy, which is never exempt. */
  readonly isShared: boolean;
}

export interface PathEvent {
  readonly type: 'path';
  readonly target: string;
  readonly path: string;
  readonly otherReadings: readonly string[];
  /** What servers may make of it that cannot decode it, of what policies match. U+FFFD is in place of other text. */
  readonly around: readonly string[];
  readonly malformed: boolean;
}

export interface PolicyEvent {
  readonly type: 'policy';
  readonly policy: string;
  readonly mode: PolicyMode;
  readonly isModeOverridden: boolean;
  readonly result: PolicyResult;
}

export type PolicyResult =
  | { readonly status: PolicyReason }
  /** It matches, and another policy takes precedence. */
  | { readonly status: 'outranked'; readonly by: string }
  | { readonly status: 'no-match'; readonly requires: readonly Requirement[] }
  /** The default policy, when another policy matches. */
  | { readonly status: 'not-needed' };

export type PolicyReason =
  | 'most-specific'
  | 'named-by-proxy'
  | 'always'
  | 'other-reading'
  /** It is for tools, and counts calls without headers, too. */
  | 'strict'
  | 'preflight'
  | 'nothing-matches';

export interface Requirement {
  readonly part: 'path' | 'host' | 'method' | 'MCP call';
  readonly value: string;
}

interface LimitEvent {
  readonly type: 'limit';
  readonly label: string;
  readonly description: string;
  readonly per: Partition;
  readonly key: string;
}

export interface QuotaEvent {
  readonly type: 'quota';
  readonly label: string;
  readonly cost: number;
  /** What is reserved until the outcome of the request is known: `tokens`. Undefined if the request is counted for good. */
  readonly reservedUnit?: string | undefined;
  readonly isAdmitted: boolean;
  /** Undefined for a limit that was not checked, because another one denied first. */
  readonly state: QuotaState | undefined;
}
