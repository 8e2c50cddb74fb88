import { addressOf } from '../addresses.ts';
import type { Route, Site } from '../unchecked-paths.ts';
import { conditionAt, holds } from './conditions.ts';
import { isCheck, type Line, linesWithin, type Section } from './sections.ts';

export function haproxyRoutes(sections: readonly Section[]): Route[] {
  return passagesOf(sections).map(({ from, to, line }) => ({
    what: `the ${from.kind} ${from.name}`,
    place: (line ?? from).place,
    servers: serversOf(to.lines),
    isChecked: hasCheck(from) || hasCheck(to),
  }));
}

export type Passage = ReturnType<typeof passagesOf>[number];

export function passagesOf(sections: readonly Section[]) {
  return sections.flatMap((from) => {
    if ((from.kind !== 'frontend' && from.kind !== 'listen') || takesEveryRequest(from)) return [];
    const lines = linesWithin(from);
    const usual = lines.findLast(({ words }) => words[0] === 'default_backend');
    const targets = lines.filter(({ words }) => words[0] === 'use_backend');
    if (usual !== undefined) targets.push(usual);
    return [
      ...targets.flatMap((line) =>
        backendsNamed(line.words[1] ?? '', sections).map((to) => ({ from, to, line })),
      ),
      ...(from.kind === 'listen' ? [{ from, to: from, line: undefined }] : []),
    ];
  });
}

/** `app_%[req.hdr(host)]` may be each backend that begins so. A name without a known part may be any, and is left out. */
function backendsNamed(name: string, sections: readonly Section[]): Section[] {
  const [head = '', ...rest] = name.split(/%\[.*\]/);
  if (rest.length > 0 && head === '') return [];
  return sections.filter(
    (each) =>
      (each.kind === 'backend' || each.kind === 'listen') &&
      (rest.length === 0 ? each.name === name : each.name.startsWith(head)),
  );
}

export function hasCheck(section: Section): boolean {
  return linesWithin(section).some(isCheck);
}

/** The usual frontend for HTTP without TLS redirects or refuses every request. */
function takesEveryRequest(section: Section): boolean {
  const hasTls = section.lines.some(({ words }) => words[0] === 'bind' && words.includes('ssl'));
  return linesWithin(section).some(
    ({ words }) =>
      (words[0] === 'redirect' ||
        (words[0] === 'http-request' && /^(redirect|deny|return|reject)$/.test(words[1] ?? ''))) &&
      isAlways(words, hasTls),
  );
}

function isAlways(words: readonly string[], hasTls: boolean): boolean {
  const at = conditionAt(words);
  if (at === -1) return true;
  const condition = words.slice(at).join(' ');
  return !hasTls && /^(if !\{ ssl_fc \}|unless \{ ssl_fc \})$/.test(condition);
}

export function serversOf(lines: readonly Line[]): string[] {
  return lines.flatMap(({ words: [first, , second, third] }) => {
    if (first === 'server' && second !== undefined) return [serverAt(second)];
    return first === 'server-template' && third !== undefined ? [serverAt(third)] : [];
  });
}

function serverAt(written: string): string {
  return addressOf(written.replace(/^ipv[46]@/, ''));
}

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
      const checked = checks.map((check) => holds(check, section, path));
      if (first === undefined || checked.includes(undefined)) return undefined;
      if (allowing === undefined) {
        const what = 'the condition of the check';
        return { what, place: first.place, isUnchecked: !checked.includes(true) };
      }
      if (holds(allowing, section, path) === undefined) return undefined;
      const what = 'http-request allow above the check';
      return { what, place: allowing.place, isUnchecked: true };
    },
  };
}
