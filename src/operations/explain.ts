/** What a gateway would make of one request, and why: the code that decides, with somebody listening. */
import { createCheck, NO_EVENTS } from '../core/check.ts';
import type { CheckRequest, HeaderFields } from '../core/check-request.ts';
import type { LocalLimiter } from '../core/local-limiter.ts';
import { NO_OVERRIDES, type Overrides } from '../core/overrides.ts';
import type { PolicySet } from '../core/policy-set.ts';
import type { Subject } from '../core/recorder.ts';
import type { SaltSource } from '../core/salts.ts';
import type { QuotaStore } from '../core/store.ts';
import { envoy } from '../dialects/envoy.ts';
import { SaltBooks } from '../salts/salt-books.ts';
import { MemoryStore } from '../stores/memory/memory-store.ts';

export interface AskedAbout {
  readonly method: string;
  /** A path, or a whole URL; nothing in it is tidied. */
  readonly url: string;
  /** In the order in which the client sent them; of one name there may be several. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Addresses: of the proxy, of who connected to it, and of who it takes the client to be. */
  readonly proxy: string;
  readonly peer?: string | undefined;
  readonly client?: string | undefined;
}

/** What it is decided by. */
export interface Circumstances {
  readonly policies: PolicySet;
  readonly salts: SaltSource;
  readonly overrides: Overrides;
  /** Must not count what is only asked about: see core/dry-run.ts. */
  readonly store: Pick<QuotaStore, 'take'>;
  /** Nor must this. */
  readonly local: LocalLimiter;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

export interface Explanation {
  readonly steps: readonly { readonly about: Subject; readonly what: string }[];
  /** What would be answered. */
  readonly answer: {
    readonly status: number;
    /** Name, value, name, value. */
    readonly headers: readonly string[];
    readonly body: string;
  };
}

/** As if nothing had been counted before, and no operator had ordered anything. */
export function untouched(policies: PolicySet, nowMs: number): Circumstances {
  const store = new MemoryStore({ now: () => nowMs, maxKeys: 1_000 });
  return { policies, salts: new SaltBooks(), overrides: NO_OVERRIDES, store, local: store, nowMs };
}

export async function explain(
  asked: AskedAbout,
  { policies, salts, overrides, store, local, nowMs }: Circumstances,
): Promise<Explanation> {
  const steps: { about: Subject; what: string }[] = [];
  const check = createCheck({
    store,
    local,
    salts,
    overrides: { current: overrides },
    newId: () => 'none',
    events: NO_EVENTS,
  });
  const decision = await check(toRequest(asked), policies, nowMs, (about, what) =>
    steps.push({ about, what }),
  );
  return { steps, answer: envoy.render(decision, policies.answers) };
}

function toRequest({ method, url, headers, proxy, peer, client }: AskedAbout): CheckRequest {
  const fields = joined(headers);
  const { host, target } = split(url);
  return {
    method,
    host: host ?? fields.host?.toString() ?? '',
    target,
    headers: fields,
    addresses: {
      proxy,
      peer,
      client,
      forwardedFor: fields['x-forwarded-for']?.toString(),
      forwarded: fields.forwarded?.toString(),
      headers: [],
    },
    policy: undefined,
    requestId: undefined,
    missing: [],
  };
}

/** As Node has them: lower-case names, and two values of one name with a comma between them. */
function joined(headers: AskedAbout['headers']): HeaderFields {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    fields[key] = fields[key] === undefined ? value : `${fields[key]}, ${value}`;
  }
  return fields;
}

/** A URL parser would tidy the path, which is what is asked about. */
function split(url: string): { host?: string; target: string } {
  const [, host, target = ''] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
  return host === undefined ? { target: url } : { host, target: target || '/' };
}
