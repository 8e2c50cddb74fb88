/** The applications that NGINX passes requests to, each under one name. */
import type { Level } from './levels.ts';
import { type Directive, everyDirective } from './tree.ts';

/** The names of the applications of a `proxy_pass` or another pass. Empty if the file does not say. */
export type ApplicationsOf = (target: string, level: Level) => readonly string[];

/** Names of this machine, also as `listen` has them. */
const LOCAL_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1?\]|0\.0\.0\.0|\*|)$/;
const PATH = /\$\{?(request_uri|uri|document_uri|is_args|args)\b.*$/;
const VARIABLE = /\$(?:\{(\w+)\}|([1-9]|[a-z_]\w*))/i;
const MAX_VALUES = 50;
const MAX_DEPTH = 4;

/** `context`: the block `http` or `stream`. Each has its own names of upstreams. */
export function applicationsIn(context: Directive, tree: readonly Directive[]): ApplicationsOf {
  const upstreams = addressesIn(context);
  const names = new Map<string, string>();
  for (const each of tree)
    for (const addresses of addressesIn(each).values()) merge(names, addresses);
  return (target, level) => {
    const found = valuesOf(target, level).flatMap((value) => {
      const [, scheme = 'http', host = ''] =
        /^(?:([a-z]+):\/\/)?(unix:[^:]*|[^/]*)/.exec(value.replace(PATH, '')) ?? [];
      return upstreams.get(host) ?? [canonicalAddress(host, scheme)];
    });
    return [...new Set(found.map((address) => names.get(address) ?? address))];
  };
}

function addressesIn({ block: blocks }: Directive): Map<string, readonly string[]> {
  const upstreams = new Map<string, readonly string[]>();
  for (const { name, args, block } of blocks) {
    if (name !== 'upstream') continue;
    const servers = block.filter((each) => each.name === 'server');
    // Lua chooses the server.
    const isDynamic = block.some((each) => each.name.startsWith('balancer_by_lua'));
    const addresses = isDynamic ? [] : servers.map((each) => canonicalAddress(each.args[0] ?? ''));
    upstreams.set(args[0] ?? '', addresses);
  }
  return upstreams;
}

/** Servers of one upstream run one application. */
function merge(names: Map<string, string>, addresses: readonly string[]): void {
  const [first] = addresses;
  if (first === undefined) return;
  const name = names.get(first) ?? first;
  const others = new Set(addresses.map((each) => names.get(each) ?? each));
  for (const [address, known] of names) if (others.has(known)) names.set(address, name);
  for (const address of addresses) names.set(address, name);
}

/** `127.0.0.1:80` of `localhost`. */
export function canonicalAddress(address: string, scheme = 'http'): string {
  if (address.startsWith('unix:')) return address;
  const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(address.toLowerCase()) ?? [];
  const plain = LOCAL_HOST.test(host) ? '127.0.0.1' : host.replace(/\.$/, '');
  return `${plain}:${port ?? (/s$/.test(scheme) ? '443' : '80')}`;
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
export function withoutLocations(block: readonly Directive[]): Directive[] {
  return everyDirective(block.filter(({ name }) => name !== 'location'));
}
