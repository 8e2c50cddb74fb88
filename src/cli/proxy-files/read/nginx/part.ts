/** Finds what the part of headgate takes away from a location of NGINX, what takes it away, and what it lacks there. */
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { type Directive, everyDirective, named } from '../../nginx-syntax/directive.ts';
import { found } from '../catalog.ts';
import { statusesOf } from './denials.ts';
import { inherited, isCheck, isChecked, isOn, type Level, nearest, onlyLeadsOn } from './levels.ts';

const ALL_OR_NONE = ['proxy_set_header', 'add_header', 'error_page', 'proxy_hide_header'];
/** These refuse clients besides `auth_request`. */
const OTHER_CHECKS = ['allow', 'deny', 'auth_basic', 'auth_jwt'];
const MOST_NAMED = 5;
/** Without these, applications take the proxy for the client, write wrong links, or get no websockets. */
const VITAL = /^(host|forwarded|x-forwarded-[a-z]+|x-real-ip|upgrade|connection)$/i;

/** `forwarded` are the headers that the part passes on to the application. */
export function partFindings(
  levelsOfSite: readonly Level[],
  forwarded: readonly string[],
): Diagnostic[] {
  return [
    ...levelsOfSite
      .filter(hasPart)
      .flatMap((level) => [...lostLines(level), ...satisfied(level), ...oldPart(level, forwarded)]),
    ...levelsOfSite.flatMap(missingPart),
    ...levelsOfSite.flatMap(replacedCheck),
    ...levelsOfSite.filter((level) => !hasPart(level)).flatMap(hiddenPart),
  ];
}

function hasPart([{ block }]: Level): boolean {
  return block.some((each) => isCheck(each) || (each.isPart && each.block.length === 0));
}

function lostLines(level: Level): Diagnostic[] {
  const [at] = level;
  const lost = ALL_OR_NONE.flatMap((name) => lostOf(name, level));
  const headers = named(lost, 'proxy_set_header');
  // An empty header is not sent: `Connection ""` is for connections that NGINX keeps.
  const isVital = headers.some(({ args: [name = '', value = ''] }) => VITAL.test(name) && value);
  const vital = isVital ? headers : [];
  const others = lost.filter((line) => !vital.includes(line));
  const findings = [
    ['proxy-headers-not-inherited', vital],
    ['lines-not-inherited', others],
  ] as const;
  return findings.flatMap(([id, lines]) => {
    if (lines.length === 0) return [];
    const verb = lines.length === 1 ? 'does' : 'do';
    const problem = `${linesAt(lines)} ${verb} not apply in this ${at.name}: ${lines.map(without403).join(' ')}`;
    return [found(id, at.where, problem)];
  });
}

function lostOf(name: string, level: Level): readonly Directive[] {
  const [at, ...around] = level;
  const own = named(at.block, name);
  if (own.length === 0 || !own.every(isOfHeadgate)) return [];
  if (name.startsWith('proxy_') && !passesOverHttp(at)) return [];
  if (name === 'add_header' && inherited('add_header_inherit', level) === 'merge') return [];
  const lost = nearest(name, around).filter((each) => !isOfHeadgate(each) && !isOnlyFor403(each));
  // NGINX itself answers there only if a body is too large.
  if (!onlyLeadsOn(level)) return lost;
  return name === 'error_page' ? lost.filter((line) => statusesOf(line).includes('413')) : [];
}

function linesAt(lines: readonly Directive[]): string {
  const places = [...new Set(lines.map(({ where }) => where))];
  const more = places.length > MOST_NAMED ? [`${places.length - MOST_NAMED} more`] : [];
  const listed = [...places.slice(0, MOST_NAMED), ...more].join(', ');
  return `${lines.length} line${lines.length === 1 ? '' : 's'} (${listed})`;
}

function without403({ name, written }: Directive): string {
  const kept = name === 'error_page' ? written.filter((each) => each !== '403') : written;
  return `${[name, ...kept].join(' ')};`;
}

/** A server that has the part may have such locations. */
function passesOverHttp({ name, block }: Directive): boolean {
  return name !== 'location' || everyDirective(block).some((each) => each.name === 'proxy_pass');
}

/** denials.ts reports such a page. */
function isOnlyFor403(line: Directive): boolean {
  return line.name === 'error_page' && statusesOf(line).join() === '403';
}

/** Recognizes lines of the part also without the comments around it. */
function isOfHeadgate({ name, args, isPart }: Directive): boolean {
  const [first = '', second = ''] = args;
  if (isPart || args.some((each) => /[$@]headgate_/.test(each))) return true;
  if (name === 'proxy_hide_header') return /^(x-)?ratelimit(-|$)/i.test(first);
  return (
    name === 'proxy_set_header' && second === `$http_${first.toLowerCase().replaceAll('-', '_')}`
  );
}

/** The part is in a block around this location, and the location has own lines in place of those of the part. */
function hiddenPart(level: Level): Diagnostic[] {
  const [at, ...around] = level;
  const isInside = at.name === 'location' || at.name === 'if';
  if (!isInside || !isChecked(level) || named(at.block, 'return').length > 0) return [];
  const hidden = ['error_page', 'add_header'].filter(
    (name) => named(at.block, name).length > 0 && nearest(name, around).some(isOfHeadgate),
  );
  if (hidden.length === 0) return [];
  const problem = `has own lines ${hidden.join(' and ')}, so those of headgate do not apply here`;
  return [found('part-not-inherited', at.where, problem)];
}

/** The part was printed for another policy file. */
function oldPart(level: Level, forwarded: readonly string[]): Diagnostic[] {
  const [at] = level;
  if (!at.block.some(isCheck) || named(at.block, 'proxy_pass').length === 0) return [];
  const set = nearest('proxy_set_header', level).map(({ args }) => args[0]?.toLowerCase());
  const lacking = forwarded.filter((name) => !set.includes(name));
  if (lacking.length === 0) return [];
  return [found('old-part', at.where, `has no proxy_set_header for ${lacking.join(', ')}`)];
}

function missingPart(level: Level): Diagnostic[] {
  const [at] = level;
  // A server may have the line of the block http.
  const own = at.name === 'server' ? nearest('auth_request', level) : at.block;
  const uri = own.find(isCheck)?.args[0];
  const [server] = named(level, 'server');
  if (uri === undefined || server === undefined) return [];
  const lines = nearest('error_page', level);
  const isNew = lines.some(({ args }) => args.at(-1) === '$headgate_answers_403');
  const needed = [uri, ...(isNew ? ['@headgate_passed'] : [])];
  const there = named(server.block, 'location').map(({ args }) => args.at(-1));
  const missing = needed.find((name) => !there.includes(name));
  if (missing === undefined) return [];
  const problem = `needs ${missing}, and the server (${server.where}) has no such location`;
  return [found('server-part-missing', at.where, problem)];
}

/** The line of the location decides, otherwise that of the nearest block with one. */
function replacedCheck([at, ...around]: Level): Diagnostic[] {
  const own = named(at.block, 'auth_request');
  const all = [...own, ...nearest('auth_request', around)];
  const other = all.find((each) => !isCheck(each) && each.args[0] !== 'off');
  if (other === undefined || own.length === 0 || !all.some(isCheck)) return [];
  const line = `auth_request ${other.args[0]} (${other.where})`;
  const problem = !own.includes(other)
    ? `${line} is not asked in this ${at.name}`
    : own.some(isCheck)
      ? `${line} stands beside that of headgate, and NGINX allows one`
      : `${line} takes the place of that of headgate, which is not asked in this ${at.name}`;
  return [found('other-check-replaced', at.where, problem)];
}

function satisfied(level: Level): Diagnostic[] {
  const [at] = level;
  if (!at.block.some(isCheck) || inherited('satisfy', level) !== 'any') return [];
  if (!OTHER_CHECKS.some((name) => isOn(name, level))) return [];
  const problem = 'has satisfy any, and an allow of headgate is enough';
  return [found('satisfied-by-headgate', at.where, problem)];
}
