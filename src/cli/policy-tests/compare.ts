import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../gateway/core/is-record.ts';
import { parsedJson } from '../../gateway/core/parsed-json.ts';
import type { Expectation, Facts } from './expectation-schema.ts';
import { durationText } from './values-schema.ts';
import type { Outcome } from './virtual-gateway.ts';

export interface Mismatch {
  /** What was compared: `verdict`, `headers.retry-after`. */
  readonly what: string;
  readonly expected: string;
  readonly actual: string;
}

type Came = Omit<Outcome, 'trace' | 'token'>;

interface Comparison extends Mismatch {
  readonly isMet: boolean;
}

export function mismatchesOf({ not, ...facts }: Expectation, outcome: Came): Mismatch[] {
  const mustNot = not === undefined ? [] : compare(not, outcome);
  return [
    ...compare(facts, outcome).filter(({ isMet }) => !isMet),
    ...mustNot
      .filter(({ isMet }) => isMet)
      .map((each) => ({ ...each, expected: `not ${each.expected}` })),
  ].map(({ what, expected, actual }) => ({ what, expected, actual }));
}

function compare(facts: Facts, { decision, answer, wouldDeny }: Came): Comparison[] {
  const { verdict, reason, policy, binding } = decision;
  const headers = headersOf(answer.headers);
  const wait = headers.get('retry-after')?.[0];
  const waits = wait === undefined ? [] : [durationText(Number(wait) * 1_000)];
  const retryAfter = facts.retry_after === undefined ? undefined : durationText(facts.retry_after);
  return [
    ...among('verdict', facts.verdict, [verdict]),
    ...among('policy', facts.policy, [policy]),
    ...among('reason', facts.reason, [reason]),
    ...among('would_deny', facts.would_deny === NONE ? null : facts.would_deny, wouldDeny),
    ...among('remaining', facts.remaining, [binding?.state.remaining ?? []].flat()),
    ...among('retry_after', retryAfter, waits),
    ...among('status', facts.status, [answer.status]),
    ...Object.entries(facts.headers ?? {}).flatMap(([name, value]) =>
      among(`headers.${name}`, value, headers.get(name) ?? []),
    ),
    ...compareBody(facts.body, answer.body),
  ];
}

/** What is shown where nothing came. No policy has this name. */
const NONE = 'none';

/** Met if one of the values is the expected one; for null, if there is no value. */
function among(
  what: string,
  expected: string | number | null | undefined,
  actual: readonly (string | number)[],
): Comparison[] {
  if (expected === undefined) return [];
  const texts = actual.map(String);
  const isMet = expected === null ? texts.length === 0 : texts.includes(String(expected));
  return [{ what, expected: String(expected ?? NONE), actual: texts.join(', ') || NONE, isMet }];
}

/** Values by name in lower case. */
function headersOf(pairs: readonly string[]): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  for (let i = 0; i < pairs.length; i += 2) {
    const name = pairs[i]?.toLowerCase() ?? '';
    headers.set(name, [...(headers.get(name) ?? []), pairs[i + 1] ?? '']);
  }
  return headers;
}

function compareBody(expected: Facts['body'], body: string): Comparison[] {
  const { contains, json } = expected ?? {};
  const found: Comparison[] = [];
  if (contains !== undefined) {
    const isMet = body.includes(contains);
    const text = `contains ${JSON.stringify(contains)}`;
    found.push({ what: 'body', expected: text, actual: body.trimEnd() || NONE, isMet });
  }
  return json === undefined ? found : [...found, ...compareJson('body', json, parsedJson(body))];
}

/** A map may have more fields than expected; lists and other values must be equal. */
function compareJson(what: string, expected: unknown, actual: unknown): Comparison[] {
  if (!isRecord(expected) || !isRecord(actual)) {
    const texts = { expected: JSON.stringify(expected), actual: JSON.stringify(actual) ?? NONE };
    return [{ what, ...texts, isMet: isDeepStrictEqual(expected, actual) }];
  }
  return Object.entries(expected).flatMap(([key, value]) =>
    compareJson(`${what}.${key}`, value, Object.hasOwn(actual, key) ? actual[key] : undefined),
  );
}
