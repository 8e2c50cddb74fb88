/** Finds what the sections of headgate in a file of HAProxy inherit, and what inherits from them. */
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import { gatewayOf, type Line, linesWithin, type Section } from './sections.ts';

/** Lines of `defaults` that answer checks in place of headgate, change them, or take it for down. */
const DISTURBING =
  /^(option \S*(chk|check)\b|default-server\b|stats\b|monitor\b|monitor-uri\b|mode (?!http)|(http|tcp)-\S|filter\b|source\b|dispatch\b|load-server-state-from-file global|errorfile 200\b)/;
const LOGGING = /^(option (http|https|tcp)log\b|log-format\b)/;
const HEADGATE = 'headgate';

export function haproxyFindings(sections: readonly Section[]): Diagnostic[] {
  const parts = partsOf(sections);
  const inherited = parts.flatMap((part) =>
    part.defaults === undefined ? [] : linesWithin(part.defaults),
  );
  return [
    ...disturbedBy(inherited),
    ...loggedBy(inherited, sections),
    ...withoutDefaults(sections, parts),
  ];
}

/** Checks pass the backend that leads to headgate, and the frontends that lead to it. */
function partsOf(sections: readonly Section[]): Section[] {
  const backend = gatewayOf(sections);
  if (backend === undefined) return [];
  const leadsThere = ({ kind, lines }: Section) =>
    kind === 'frontend' &&
    lines.some(
      ({ words: [first, name] }) =>
        /^(use|default)_backend$/.test(first ?? '') && name === HEADGATE,
    );
  return [...sections.filter(leadsThere), backend];
}

function disturbedBy(inherited: readonly Line[]): Diagnostic[] {
  const lines = [...new Set(inherited)].filter(({ words }) => DISTURBING.test(words.join(' ')));
  const [first] = lines;
  if (first === undefined) return [];
  const written = lines.map(({ words, number }) => `${words.join(' ')} (line ${number})`);
  const problem = `the sections of headgate inherit ${written.join(', ')}`;
  return [found('check-inherits', first.place, problem)];
}

function loggedBy(inherited: readonly Line[], sections: readonly Section[]): Diagnostic[] {
  const own = inherited.find(({ words }) => LOGGING.test(words.join(' ')));
  const isLogged = inherited.some(({ words }) => words[0] === 'log');
  const global = sections
    .filter(({ kind }) => kind === 'global')
    .flatMap(({ lines }) => lines)
    .find(
      ({ words }) =>
        words[0] === 'log' && !/^(emerg|alert|crit|err|warning|notice)$/.test(words.at(-1) ?? ''),
    );
  const line = isLogged && own !== undefined ? own : global;
  if (line === undefined) return [];
  const problem = `${line.words.join(' ')} also writes a line for each check`;
  return [found('checks-logged', line.place, problem)];
}

/** Sections after `defaults headgate` inherit nothing more of the `defaults` before it. */
function withoutDefaults(sections: readonly Section[], parts: readonly Section[]): Diagnostic[] {
  const empty = sections.find(({ kind, name }) => kind === 'defaults' && name === HEADGATE);
  const others = sections.filter(
    ({ kind, number }) => kind === 'defaults' && number < (empty?.number ?? 0),
  );
  if (empty === undefined || others.length === 0) return [];
  const lost = sections
    .filter(({ kind }) => /^(frontend|listen|backend)$/.test(kind))
    .filter((each) => each.defaults === empty && !each.isFrom && !parts.includes(each));
  if (lost.length === 0) return [];
  const names = lost.map(({ kind, name, number }) => `${kind} ${name} (line ${number})`).join(', ');
  const problem = `${names} inherit nothing, because defaults headgate comes after the defaults of line ${others.at(-1)?.number}`;
  return [found('defaults-lost', empty.place, problem)];
}
