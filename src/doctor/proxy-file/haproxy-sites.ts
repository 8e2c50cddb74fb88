/** Which requests of a frontend of HAProxy the condition of the check leaves out. */
import { holds } from './haproxy-conditions.ts';
import { haproxySections, isCheck, type Section } from './haproxy-sections.ts';
import type { Site } from './unchecked-paths.ts';

/** The frontends that ask headgate. */
export function haproxySites(file: string, text: string): Site[] {
  return haproxySections(text).flatMap((section) =>
    section.lines.some(isCheck) ? [siteOf(section, file)] : [],
  );
}

function siteOf(section: Section, file: string): Site {
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
        return { what, place: `${file}:${first.number}`, isUnchecked: !asked.includes(true) };
      }
      if (holds(allowing, section, path) === undefined) return undefined;
      const what = 'http-request allow above the check';
      return { what, place: `${file}:${allowing.number}`, isUnchecked: true };
    },
  };
}
