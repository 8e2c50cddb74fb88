/** The applications that NGINX passes requests to. */

import { type Directive, everyDirective } from '../../nginx-syntax/directive.ts';
import { addressOf } from '../addresses.ts';
import type { Level } from './levels.ts';

/** The servers that a `proxy_pass` or another pass leads to, for each value of its variables. */
export type ServersOf = (target: string, level: Level) => readonly (readonly string[])[];

const PATH = /\$\{?(request_uri|uri|document_uri|is_args|args)\b.*$/;
const VARIABLE = /\$(?:\{(\w+)\}|([1-9]|[a-z_]\w*))/i;
const MAX_VALUES = 50;
const MAX_DEPTH = 4;

/** `context`: the block `http` or `stream`. Each has its own names of upstreams. */
export function serversIn({ block: blocks }: Pick<Directive, 'block'>): ServersOf {
  const upstreams = new Map<string, readonly string[]>();
  for (const { name, args, block } of blocks) {
    if (name !== 'upstream') continue;
    // Lua chooses the server.
    const isDynamic = block.some((each) => each.name.startsWith('balancer_by_lua'));
    const servers = isDynamic ? [] : block.filter((each) => each.name === 'server');
    upstreams.set(
      args[0] ?? '',
      servers.map((each) => addressOf(each.args[0] ?? '')),
    );
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

/** The text with each value that its variables may have, as far as `set` and `map` say. */
export function valuesOf(text: string, level: Level, depth = 0): readonly string[] {
  const match = VARIABLE.exec(text);
  const values = match && depth < MAX_DEPTH ? assigned(match[1] ?? match[2] ?? '', level) : [];
  if (match === null || values.length === 0) return [text];
  const [before, after] = [text.slice(0, match.index), text.slice(match.index + match[0].length)];
  return values
    .flatMap((value) => valuesOf(`${before}${value}${after}`, level, depth + 1))
    .slice(0, MAX_VALUES);
}

/** By the nearest block with a `set`, or by the blocks that choose a value. */
function assigned(variable: string, { at, around }: Level): readonly string[] {
  for (const { name, block } of [at, ...around]) {
    if (name === 'http') return chosen(variable, block);
    const set = withoutLocations(block).filter(
      (each) => each.name === 'set' && each.args[0] === `$${variable}`,
    );
    if (set.length > 0) return set.map(({ args }) => args[1] ?? '');
  }
  return [];
}

function chosen(variable: string, block: readonly Directive[]): readonly string[] {
  return block
    .filter(({ name, args }) => CHOICES.has(name) && args.at(-1) === `$${variable}`)
    .flatMap((each) => each.block)
    .filter(({ name }) => !SETTINGS.has(name))
    .flatMap(({ args }) => args[0] ?? []);
}

const CHOICES: ReadonlySet<string> = new Set(['map', 'geo', 'split_clients']);
const SETTINGS: ReadonlySet<string> = new Set([
  'hostnames',
  'volatile',
  'ranges',
  'proxy',
  'delete',
]);

/** The lines of a block, also in its `if` blocks. */
function withoutLocations(block: readonly Directive[]): Directive[] {
  return everyDirective(block.filter(({ name }) => name !== 'location'));
}
