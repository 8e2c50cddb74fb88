/** Explains how a gateway would decide one request: the same code decides, with a trace. Nothing is counted. */
import type { AnswerStyle } from '../core/answer-style.ts';
import { createCheck, UNOBSERVED } from '../core/check.ts';
import type { CheckRequest, HeaderFields } from '../core/check-request.ts';
import type { Decision } from '../core/counting/decision.ts';
import { dryRun, localDryRun } from '../core/counting/dry-run.ts';
import {
  type LocalLimiter,
  type QuotaReader,
  type QuotaStore,
  StoreError,
} from '../core/counting/store.ts';
import type { KeyDirectory } from '../core/identity/key-directory.ts';
import type { SaltSource } from '../core/identity/salts.ts';
import type { PolicySet } from '../core/matching/policy-set.ts';
import { NO_OVERRIDES, type Overrides } from '../core/overrides.ts';
import { plainMetadata } from '../core/proxy-metadata.ts';
import { DIALECT_NAMES, DIALECTS } from '../dialects/index.ts';
import { MemoryStore } from '../stores/memory/memory-store.ts';
import { SaltBooks } from '../stores/salts/salt-sources.ts';
import { createClientSteps } from './explain-client.ts';
import { type Step, stepsOf } from './explain-text.ts';
import { OperationError } from './operation-error.ts';
import type { Input, Output } from './operation-table.ts';
import type { OverrideLists } from './override-report.ts';
import { DEFAULT_DIALECT } from './request-form.ts';
import type { Gateway } from './running-gateway.ts';
import { unavailableText } from './store-text.ts';

export interface ExplainedRequest {
  readonly method: string;
  /** A path or a whole URL. It is explained exactly as written. */
  readonly url: string;
  /** The client sends them in this order. A name may occur several times. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly proxy: string;
  readonly peer?: string | undefined;
  readonly client?: string | undefined;
  readonly dialect?: string | undefined;
  /** What filters of Envoy say, by their namespace. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

export interface ExplainContext {
  readonly policies: PolicySet;
  readonly salts: SaltSource;
  readonly overrides: OverrideLists & { readonly current: Overrides };
  readonly keys?: KeyDirectory | undefined;
  /** Neither of these may count the request: see core/counting/dry-run.ts. */
  readonly store: Pick<QuotaStore, 'take'>;
  readonly local: LocalLimiter;
  readonly nowMs: number;
}

export type ExplainedAnswer = Output<'explain'>['answer'];

export interface Explanation {
  readonly steps: Step[];
  readonly answer: ExplainedAnswer;
}

export function freshContext(policies: PolicySet, nowMs: number): ExplainContext {
  const store = new MemoryStore({ now: () => nowMs, maxKeys: 1_000 });
  const overrides = { current: NO_OVERRIDES, list: () => [], ended: () => [] };
  return { policies, salts: new SaltBooks(), overrides, store, local: store, nowMs };
}

/** Rejects with an OperationError if the dialect does not exist. */
export async function explain(
  request: ExplainedRequest,
  { policies, salts, overrides, keys, store, local, nowMs }: ExplainContext,
): Promise<Explanation> {
  const renderAnswer = answerBy(request.dialect ?? DEFAULT_DIALECT);
  const steps: Step[] = [];
  const clientSteps = createClientSteps({ policies, overrides, salts, nowMs });
  const check = createCheck({
    store,
    local,
    salts,
    overrides,
    keys,
    newId: () => 'none',
    observer: {
      ...UNOBSERVED,
      step: (event) => steps.push(...stepsOf(event), ...clientSteps(event)),
    },
  });
  const checked = toCheckRequest(request);
  const decision = await check(checked, policies, nowMs);
  const { answers = policies.answers } = decision;
  return { steps, answer: renderAnswer(decision, answers, checked.headers) };
}

/** Throws an OperationError that lists the names if there is no such dialect. */
export function answerBy(dialect: string) {
  const found = DIALECTS.find(({ name }) => name === dialect);
  if (found === undefined) {
    throw new OperationError(
      'invalid',
      `"${dialect}" is not a proxy that headgate knows; use one of ${DIALECT_NAMES.join(', ')}`,
    );
  }
  return (decision: Decision, style: AnswerStyle, sent?: HeaderFields): ExplainedAnswer => {
    const { status, headers, body } = found.render(decision, style, sent);
    return { dialect, status, headers: [...headers], body };
  };
}

export function toCheckRequest(request: Omit<ExplainedRequest, 'dialect'>): CheckRequest {
  const { method, url, headers, proxy, peer, client, metadata } = request;
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
    metadata: metadata && plainMetadata(metadata),
    missing: [],
  };
}

/** Node reads headers so: names in lower case, one character per byte, several values of one name joined with a comma. */
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

export async function explainNow(
  gateway: Gateway,
  { headers, ...request }: Input<'explain'>,
): Promise<Output<'explain'>> {
  let failure: StoreError | undefined;
  const peek: QuotaReader['peek'] = async (descriptors) => {
    try {
      return await gateway.reader.peek(descriptors);
    } catch (error) {
      if (error instanceof StoreError) failure = error;
      throw error;
    }
  };
  const explanation = await explain(
    { ...request, headers: fieldsOf(headers) },
    {
      policies: gateway.policies.current,
      salts: gateway.salts,
      overrides: gateway.overrides,
      keys: gateway.keys,
      store: dryRun({ peek }),
      local: localDryRun(gateway.peekLocally),
      nowMs: gateway.now(),
    },
  );
  return {
    ...explanation,
    ...(failure && { store_unavailable: unavailableText(failure, gateway) }),
  };
}

function fieldsOf(headers: Input<'explain'>['headers']): ExplainedRequest['headers'] {
  return Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
}
