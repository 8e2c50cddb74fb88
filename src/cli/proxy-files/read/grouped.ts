/** One finding in place of equal ones: most sites repeat the same lines in many places. */
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';

const MOST_PLACES = 20;

/** The first place stands for all of them, and the text names the others. */
export function grouped(findings: readonly Diagnostic[]): Diagnostic[] {
  const groups = new Map<string, Diagnostic[]>();
  for (const finding of findings) {
    const key = `${finding.rule} ${finding.message}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined || others.length === 0) return first ?? [];
    const places = others.slice(0, MOST_PLACES).map(({ file }) => file);
    const more = others.length > MOST_PLACES ? [`${others.length - MOST_PLACES} more`] : [];
    return { ...first, message: `also at ${[...places, ...more].join(', ')}: ${first.message}` };
  });
}
