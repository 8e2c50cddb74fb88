/** Maps that count. */
export function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  let found = map.get(key);
  if (found === undefined) {
    found = create();
    map.set(key, found);
  }
  return found;
}

export function mergeInto<Key, Value>(
  to: Map<Key, Value>,
  from: ReadonlyMap<Key, Value>,
  add: (a: Value, b: Value) => Value,
): Map<Key, Value> {
  for (const [key, value] of from) {
    const before = to.get(key);
    to.set(key, before === undefined ? value : add(before, value));
  }
  return to;
}

/** How often each whole number occurs. It is plain data, so threads can send it. */
export type Histogram = Map<number, number>;

export function countValue(histogram: Histogram, value: number): void {
  histogram.set(value, (histogram.get(value) ?? 0) + 1);
}

export function ascending(histogram: Histogram): [value: number, count: number][] {
  return [...histogram].sort(([a], [b]) => a - b);
}

/** The number at a rank of these counts; 1 is the smallest. Returns 0 if there are none. */
export function atRank(counts: Iterable<readonly [number, number]>, rank: number): number {
  let seen = 0;
  let last = 0;
  for (const [value, count] of counts) {
    seen += count;
    last = value;
    if (seen >= rank) return value;
  }
  return last;
}

export function totalOf(histogram: Histogram): number {
  return [...histogram.values()].reduce((total, count) => total + count, 0);
}
