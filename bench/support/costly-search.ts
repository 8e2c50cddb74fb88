/** Searches for the value of a field that costs most: values are changed at random, and what costs more is kept. */
import type { CostlyField } from './costly-fields.ts';

const STEPS = 120;
const RUNS = 16;

export interface Found {
  readonly value: string;
  /** Of deciding alone, without HTTP: the least of several runs. */
  readonly micros: number;
}

/** `decide` does everything that a gateway does about one request, but for the connection. */
export function searchCostliest(
  field: CostlyField,
  length: number,
  decide: (call: ReturnType<CostlyField['call']>) => void,
): Found {
  const random = seeded(length + field.name.length);
  const pick = () => field.pieces[Math.floor(random() * field.pieces.length)] ?? '';
  const cost = (pieces: readonly string[]): Found => {
    const value = repeatTo(pieces, length);
    return { value, micros: microsOf(() => decide(field.call(value))) };
  };
  let pieces = [pick(), pick()];
  let best = cost(pieces);
  for (let step = 0; step < STEPS; step++) {
    // Now and then from the start, so that the first hill is not the last.
    const tried = step % 30 === 29 ? [pick(), pick(), pick()] : changed(pieces, pick, random);
    const found = cost(tried);
    if (found.micros > best.micros) {
      best = found;
      pieces = tried;
    }
  }
  return best;
}

/** The first piece stands once, the others over and over, until the value is as long as wanted. */
function repeatTo([first = '', ...repeated]: readonly string[], length: number): string {
  const unit = repeated.join('') || first || 'a';
  return (first + unit.repeat(Math.ceil(length / unit.length))).slice(0, length);
}

function changed(pieces: readonly string[], pick: () => string, random: () => number): string[] {
  const at = Math.floor(random() * pieces.length);
  const kind = random();
  if (kind < 0.4) return pieces.toSpliced(at, 0, pick());
  if (kind < 0.6 && pieces.length > 1) return pieces.toSpliced(at, 1);
  return pieces.with(at, pick());
}

/** The least of several runs is one in which the machine did nothing else. */
function microsOf(once: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS; run++) {
    const startedMs = performance.now();
    once();
    least = Math.min(least, (performance.now() - startedMs) * 1_000);
  }
  return least;
}

/** The same values every time: mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
