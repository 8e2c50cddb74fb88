/** What a series of counts says: the present rate, and the last 15 minutes as a sparkline. */

/** A rate is the mean of so long. */
const RATE_MS = 5_000;
const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** Per second, over the last steps. */
export function rateOf(counts: readonly number[], stepMs: number): number {
  const last = counts.slice(-Math.max(1, Math.ceil(RATE_MS / stepMs)));
  return last.length === 0 ? 0 : (sum(last) * 1_000) / (last.length * stepMs);
}

/** One character for each part of the time, oldest first. A space is a part in which nothing was counted. */
export function sparkline(counts: readonly number[], width: number): string {
  const sums = Array.from({ length: width }, (_, i) =>
    sum(counts.slice(edge(counts, i, width), edge(counts, i + 1, width))),
  );
  const most = Math.max(...sums);
  return sums.map((each) => bar(each, most)).join('');
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function edge(counts: readonly number[], part: number, parts: number): number {
  return Math.round((part * counts.length) / parts);
}

function bar(count: number, most: number): string {
  return count === 0 ? ' ' : (BARS[Math.ceil((count / most) * BARS.length) - 1] ?? ' ');
}
