import { addressOf } from '../addresses.ts';
import type { CaddyDirective, CaddyTree } from './tree.ts';

/** Blocks with lines of a site. `handle_errors` is none of them, because it runs after what failed. */
const CONTAINER = /^(handle|handle_path|route)$/;
const MAX_INVOCATIONS = 20;
const CHECK_PATH = /^\/caddy(\?|$)/;

/** The parts of headgate 0.2 check with `reverse_proxy` in place of `forward_auth`. */
export function isCheck({ name, block }: CaddyDirective): boolean {
  if (name !== 'forward_auth' && name !== 'reverse_proxy') return false;
  return block.some(
    ({ name, args }) => /^(uri|rewrite)$/.test(name) && CHECK_PATH.test(args[0] ?? ''),
  );
}

/** True if it checks the path that a rewrite has made, and not that of the client. */
export function checksRewritten(check: CaddyDirective): boolean {
  return !check.block.some(
    ({ name, args }) => name === 'header_up' && /^x-forwarded-uri$/i.test(args[0] ?? ''),
  );
}

export function within(directive: CaddyDirective): CaddyDirective[] {
  return [directive, ...directive.block.flatMap(within)];
}

export function hasCheck(directive: CaddyDirective): boolean {
  return isCheck(directive) || directive.block.some(hasCheck);
}

/** Caddy sorts the lines of a block, but for those of `route`: `forward_auth` runs before these. */
const AFTER_CHECK = new Set([
  ...['request_header', 'encode', 'push', 'intercept', 'templates', 'invoke', 'handle'],
  ...['handle_path', 'route', 'abort', 'error', 'copy_response', 'respond', 'metrics'],
  ...['reverse_proxy', 'php_fastcgi', 'file_server', 'acme_server'],
]);

/** The lines of a site besides checks, each with whether a check runs before it. */
export function linesOf(
  site: CaddyDirective,
  { snippets }: CaddyTree,
): { readonly line: CaddyDirective; readonly isChecked: boolean }[] {
  const inside = (
    block: CaddyDirective,
    before: boolean,
    depth: number,
  ): ReturnType<typeof linesOf> => {
    const isRoute = block.name === 'route';
    const checks = (line: CaddyDirective) => line.name === 'forward_auth' && isCheck(line);
    const everywhere = before || (!isRoute && block.block.some(checks));
    let isAfterCheck = before;
    return block.block.flatMap((line) => {
      isAfterCheck ||= isCheck(line);
      if (isCheck(line)) return [];
      const isChecked = isRoute
        ? isAfterCheck
        : everywhere && (before || AFTER_CHECK.has(line.name));
      const named = line.name === 'invoke' ? snippets.get(`&${line.args[0]}`) : undefined;
      const next = named !== undefined && depth < MAX_INVOCATIONS ? named : line;
      const isBlock = next !== line || CONTAINER.test(line.name);
      return [{ line, isChecked }, ...(isBlock ? inside(next, isChecked, depth + 1) : [])];
    });
  };
  return inside(site, false, 0);
}

export function matcherOf({ args }: CaddyDirective): string | undefined {
  const [first] = args;
  return first !== undefined && /^([/@]|\*$)/.test(first) ? first : undefined;
}

export function passesOn({ name }: CaddyDirective): boolean {
  return name === 'reverse_proxy' || name === 'php_fastcgi';
}

/** Returns addresses, without those that a request chooses. */
export function upstreamsOf(line: CaddyDirective): string[] {
  const listed = line.args.slice(matcherOf(line) === undefined ? 0 : 1);
  const more = line.block.filter(({ name }) => name === 'to').flatMap(({ args }) => args);
  return [...listed, ...more]
    .filter((each) => !/\{(?![$]|env\.)/.test(each))
    .map((each) => addressOf(each));
}
