import { type Directive, everyDirective, named } from '../../nginx-syntax/directive.ts';
import { addressOf } from '../addresses.ts';
import type { Level } from './levels.ts';

/** Returns the servers of a `proxy_pass` or the like, for each value of its variables. */
export type ServersOf = (target: string, level: Level) => readonly (readonly string[])[];

const PATH = /\$\{?(request_uri|uri|document_uri|is_args|args)\b.*$/;
const VARIABLE = /\$(?:\{(\w+)\}|([1-9]|[a-z_]\w*))/i;
const MAX_VALUES = 50;
const MAX_DEPTH = 4;

/** The blocks `http` and `stream` have their own names of upstreams. */
export function serversIn({ block: blocks }: Pick<Directive, 'block'>): ServersOf {
  const upstreams = new Map<string, readonly string[]>();
  for (const { args, block } of named(blocks, 'upstream')) {
    const isChosenByLua = block.some(({ name }) => name.startsWith('balancer_by_lua'));
    const servers = isChosenByLua ? [] : named(block, 'server');
    const addresses = servers.map((each) => addressOf(each.args[0] ?? ''));
    upstreams.set(args[0] ?? '', addresses);
  }
  return (target, level) =>
    valuesOf(target, level).map((value) => {
      const [, scheme, host = ''] =
        /^(?:([a-z]+):\/\/)?(unix:[^:]*|[^/]*)/.exec(value.replace(PATH, '')) ?? [];
      const address = addressOf(host, scheme);
      const all = [...upstreams.values()].find((each) => each.includes(address));
      return upstreams.get(host) ?? all ?? [address];
    });
}

/** Fills in the values that `set`, `map` and their like give the variables of a text. */
export function valuesOf(text: string, level: Level, depth = 0): readonly string[] {
  const match = VARIABLE.exec(text);
  const values = match && depth < MAX_DEPTH ? assigned(match[1] ?? match[2] ?? '', level) : [];
  if (match === null || values.length === 0) return [text];
  const [before, after] = [text.slice(0, match.index), text.slice(match.index + match[0].length)];
  return values
    .flatMap((value) => valuesOf(`${before}${value}${after}`, level, depth + 1))
    .slice(0, MAX_VALUES);
}

function assigned(variable: string, level: Level): readonly string[] {
  for (const { name, block } of level) {
    if (name === 'http') return chosen(variable, block);
    const inIfs = everyDirective(block.filter((each) => each.name !== 'location'));
    const set = named(inIfs, 'set').filter(({ args }) => args[0] === `$${variable}`);
    if (set.length > 0) return set.map(({ args }) => args[1] ?? '');
  }
  return [];
}

function chosen(variable: string, block: readonly Directive[]): readonly string[] {
  return named(block, 'map', 'geo', 'split_clients')
    .filter(({ args }) => args.at(-1) === `$${variable}`)
    .flatMap((each) => each.block)
    .filter(({ name }) => !SETTINGS.has(name))
    .flatMap(({ args }) => args[0] ?? []);
}

const SETTINGS: ReadonlySet<string> = new Set([
  ...['hostnames', 'volatile', 'ranges', 'proxy', 'delete'],
]);
