/** Which requests of a frontend of HAProxy the condition of the check leaves out. */

import type { Site } from '../unchecked-paths.ts';
import { holds } from './conditions.ts';
import { isCheck, type Section } from './sections.ts';

/** The frontends that ask headgate. */
export function haproxySites(sections: readonly Section[]): Site[] {
  return sections.filter(({ lines }) => lines.some(isCheck)).map(siteOf);
}

function siteOf(section: Section): Site {
  const checks = section.lines.filter(isCheck);
  const [first] = checks;
  // HAProxy reads no further `http-request` line of the section.
  const allows = section.lines.filter(
    ({ words: [rule, action], number }) =>
      rule === 'http-request' && action === 'allow' && number < (first?.number ?? 0),
  );
  return {
    hosts: undefined,
    paths: section.lines.flatMap(({ words }) => words.filter((word) => /^\/[\w./-]*$/.test(word))),
    choose(path) {
      const allowing = allows.find((line) => holds(line, section, path) !== false);
      const asked = checks.map((check) => holds(check, section, path));
      if (first === undefined || asked.includes(undefined)) return undefined;
      if (allowing === undefined) {
        const what = 'the condition of the check';
        return { what, place: first.place, isUnchecked: !asked.includes(true) };
      }
      if (holds(allowing, section, path) === undefined) return undefined;
      const what = 'http-request allow above the check';
      return { what, place: allowing.place, isUnchecked: true };
    },
  };
}
