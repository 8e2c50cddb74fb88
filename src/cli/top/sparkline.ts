/** Draws a series of counts as a sparkline. */

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

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
