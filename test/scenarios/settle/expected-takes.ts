/** The counters that tokens name, each with what requests took of it. */
import { type Admitted, keyOf } from './admitted.ts';
import { Ledger } from './ledger.ts';
import { type Kind, numberOf, specOf } from './policies.ts';
import type { TokenPart } from './token.ts';

export interface Take {
  readonly units: number;
  readonly momentMs: number;
  readonly limit: number;
  readonly inheritsFrom: string | undefined;
  readonly admitted: Admitted;
}

export interface Counter {
  readonly kind: Kind;
  readonly windowMs: number;
  readonly ledger: Ledger;
  /** In the order of time. */
  readonly takes: Take[];
  /** Requests that have reserved nothing, in the order of time. */
  readonly checks: Take[];
  /** The sum of what requests under way will cost beyond their reservations. */
  underWay: number;
  /** What was under way when the count was last within the limit, and that limit. */
  bound: number | undefined;
  boundLimit: number;
}

/** By key. Throws a RangeError if a token names a limit that its policy file does not have. */
export function countersOf(all: readonly Admitted[]): Map<string, Counter> {
  const counters = new Map<string, Counter>();
  for (const each of all) for (const part of each.token.parts) expectTake(counters, each, part);
  for (const { takes, checks } of counters.values()) {
    for (const some of [takes, checks]) some.sort((a, b) => a.momentMs - b.momentMs);
  }
  return counters;
}

function expectTake(counters: Map<string, Counter>, admitted: Admitted, part: TokenPart): void {
  const { version, token } = admitted;
  const spec = specOf(version, part.digest);
  const key = keyOf(part, version);
  if (spec === undefined || key === undefined) {
    throw new RangeError('a token names a limit that its policy file does not have');
  }
  const windowMs = spec.seconds * 1_000;
  const ledger = () => new Ledger(spec.kind, windowMs);
  let counter = counters.get(key);
  if (counter === undefined) {
    counter = {
      ...spec,
      windowMs,
      ledger: ledger(),
      takes: [],
      checks: [],
      underWay: 0,
      bound: undefined,
      boundLimit: 0,
    };
    counters.set(key, counter);
  }
  // The former name of an address comes first.
  const alike = token.parts.filter(
    ({ digest, form, partition }) =>
      digest === part.digest && form === part.form && partition.startsWith('i.'),
  );
  const former = alike[alike.indexOf(part) - 1];
  (part.units === 0 ? counter.checks : counter.takes).push({
    units: part.units,
    momentMs: part.momentMs,
    limit: numberOf(spec, part.form),
    inheritsFrom: former && keyOf(former, version),
    admitted,
  });
}
