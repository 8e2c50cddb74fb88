/** One finding in place of equal ones: most sites repeat the same lines in many places. */
import type { DoctorFinding } from './catalog.ts';

const MOST_PLACES = 20;

/** The first place stands for all of them, and the text names the others. */
export function grouped(findings: readonly DoctorFinding[]): DoctorFinding[] {
  const groups = new Map<string, DoctorFinding[]>();
  for (const finding of findings) {
    const key = `${finding.id} ${finding.problem}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined || others.length === 0) return first ?? [];
    const places = others.slice(0, MOST_PLACES).map(({ subject }) => subject);
    const more = others.length > MOST_PLACES ? [`${others.length - MOST_PLACES} more`] : [];
    return { ...first, problem: `also at ${[...places, ...more].join(', ')}: ${first.problem}` };
  });
}
