/** Joins findings that differ in their place alone: most sites repeat the same lines in many locations. */
import type { DoctorFinding } from '../../catalog.ts';

const MOST_PLACES = 20;

/** The first place stands for all of them. */
export function grouped(findings: readonly DoctorFinding[]): DoctorFinding[] {
  const groups = new Map<string, [DoctorFinding, ...DoctorFinding[]]>();
  for (const finding of findings) {
    const key = `${finding.id} ${finding.problem}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [finding]);
    else group.push(finding);
  }
  return [...groups.values()].map(([first, ...others]) => {
    if (others.length === 0) return first;
    const places = others.slice(0, MOST_PLACES).map(({ subject }) => subject);
    const more = others.length > MOST_PLACES ? [`${others.length - MOST_PLACES} more`] : [];
    return { ...first, problem: `also at ${[...places, ...more].join(', ')}: ${first.problem}` };
  });
}
