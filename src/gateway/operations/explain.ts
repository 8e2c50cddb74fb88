/** Explains how a gateway would decide one request: the same code decides, with a trace. Nothing is counted. */
import { createCheck, UNOBSERVED } from '../core/check.ts';
import type { CheckRequest, HeaderFields } from '../core/check-request.ts';
import type { LocalLimiter, QuotaStore } from '../core/counting/store.ts';
import type { SaltSource } from '../core/identity/salts.ts';
import type { PolicySet } from '../core/matching/policy-set.ts';
import { NO_OVERRIDES, type Overrides } from '../core/overrides.ts';
import { MemoryStore } from '../stores/memory/memory-store.ts';
import { SaltBooks } from '../stores/salts/salt-books.ts';
import { answerBy, DEFAULT_DIALECT, type ExplainedAnswer } from './explain-answer.ts';
import { createClientSteps } from './explain-client.ts';
import { type Step, stepsOf } from './explain-text.ts';
import type { OverrideLists } from './override-report.ts';

/** A request as the client sends it, and the addresses around the proxy. */
export interface ExplainedRequest {
  readonly method: string;
  /** A path or a whole URL. It is explained exactly as written. */
  readonly url: string;
  /** In the order in which the client sends them. A name may occur several times. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The address of the proxy. */
  readonly proxy: string;
  /** The address that connected to the proxy. */
  readonly peer?: string | undefined;
  /** The client's address as the proxy reports it. */
  readonly client?: string | undefined;
  /** The name of a dialect, by which the answer is rendered. */
  readonly dialect?: string | undefined;
}

/** Everything that the decision depends on besides the request. */
export interface ExplainContext {
  readonly policies: PolicySet;
  readonly salts: SaltSource;
  readonly overrides: OverrideLists & { readonly current: Overrides };
  /** Must not count the request: see core/dry-run.ts. */
  readonly store: Pick<QuotaStore, 'take'>;
  /** Must not count the request either. */
  readonly local: LocalLimiter;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

export interface Explanation {
  readonly steps: readonly Step[];
  readonly answer: ExplainedAnswer;
}

/** A context without counts and overrides. */
export function freshContext(policies: PolicySet, nowMs: number): ExplainContext {
  const store = new MemoryStore({ now: () => nowMs, maxKeys: 1_000 });
  const overrides = { current: NO_OVERRIDES, list: () => [], ended: () => [] };
  return { policies, salts: new SaltBooks(), overrides, store, local: store, nowMs };
}

/** Rejects with an OperationError if the dialect does not exist. */
export async function explain(
  request: ExplainedRequest,
  { policies, salts, overrides, store, local, nowMs }: ExplainContext,
): Promise<Explanation> {
  const renderAnswer = answerBy(request.dialect ?? DEFAULT_DIALECT);
  const steps: Step[] = [];
  const clientSteps = createClientSteps({ policies, overrides, salts, nowMs });
  const check = createCheck({
    store,
    local,
    salts,
    overrides,
    newId: () => 'none',
    observer: {
      ...UNOBSERVED,
      step: (event) => steps.push(...stepsOf(event), ...clientSteps(event)),
    },
  });
  const decision = await check(toCheckRequest(request), policies, nowMs);
  return { steps, answer: renderAnswer(decision, policies.answers) };
}

/** The request as a dialect would parse it from what the proxy sends. */
export function toCheckRequest(request: Omit<ExplainedRequest, 'dialect'>): CheckRequest {
  const { method, url, headers, proxy, peer, client } = request;
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

/** As Node reads them: names in lower case, one character per byte, several values of one name joined with a comma. */
function joined(headers: ExplainedRequest['headers']): HeaderFields {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const bytes = Buffer.from(value).toString('latin1');
    fields[key] = fields[key] === undefined ? bytes : `${fields[key]}, ${bytes}`;
  }
  return fields;
}

/** A URL parser would normalize the path, and the spelling of the path is what `explain` is for. */
function split(url: string): { host?: string; target: string } {
  const [, host, target = ''] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
  return host === undefined ? { target: url } : { host, target: target || '/' };
}
