/** What a directive of a Caddyfile does: it is a check of headgate, or passes requests on. */

import { addressOf } from '../addresses.ts';
import type { CaddyDirective, CaddyTree } from './tree.ts';

const CHECK_PATH = /^\/caddy(\?|$)/;

/** Whether a line is a check of headgate: `forward_auth`, or `reverse_proxy` in the parts of 0.2. */
export function isCheck({ name, block }: CaddyDirective): boolean {
  if (name !== 'forward_auth' && name !== 'reverse_proxy') return false;
  return block.some(
    ({ name, args }) => /^(uri|rewrite)$/.test(name) && CHECK_PATH.test(args[0] ?? ''),
  );
}

/** Whether it checks the path that a rewrite has made, and not the one of the client. */
export function checksRewritten(check: CaddyDirective): boolean {
  return !check.block.some(
    ({ name, args }) => name === 'header_up' && /^x-forwarded-uri$/i.test(args[0] ?? ''),
  );
}

export function within(directive: CaddyDirective): CaddyDirective[] {
  return [directive, ...directive.block.flatMap(within)];
}

/** Whether the line is a check, or has one in it. */
export function asks(directive: CaddyDirective): boolean {
  return isCheck(directive) || directive.block.some(asks);
}

export function sitesThatAsk({ sites }: CaddyTree): readonly CaddyDirective[] {
  return sites.filter(asks);
}

/** Caddy sorts the lines of a block, but for those of `route`: `forward_auth` runs before these. */
const AFTER_CHECK = new Set([
  ...['request_header', 'encode', 'push', 'intercept', 'templates', 'invoke', 'handle'],
  ...['handle_path', 'route', 'abort', 'error', 'copy_response', 'respond', 'metrics'],
  ...['reverse_proxy', 'php_fastcgi', 'file_server', 'acme_server'],
]);

/** Calls `visit` for each line of a site that is not a check, and says whether headgate was asked before it. */
export function visitLines(
  site: CaddyDirective,
  { snippets }: CaddyTree,
  visit: (line: CaddyDirective, isChecked: boolean) => void,
): void {
  const walk = (block: CaddyDirective, before: boolean, depth: number) => {
    const isRoute = block.name === 'route';
    const checks = (line: CaddyDirective) => line.name === 'forward_auth' && isCheck(line);
    const everywhere = before || (!isRoute && block.block.some(checks));
    let isChecked = before;
    for (const line of block.block) {
      if (isCheck(line)) isChecked = true;
      else {
        const asked = isRoute ? isChecked : everywhere && (before || AFTER_CHECK.has(line.name));
        visit(line, asked);
        const named = line.name === 'invoke' ? snippets.get(`&${line.args[0]}`) : undefined;
        if (named !== undefined && depth < 20) walk(named, asked, depth + 1);
        else if (isContainer(line)) walk(line, asked, depth + 1);
      }
    }
  };
  walk(site, false, 0);
}

/** Whether its block has lines of a site, and not settings of one line. `handle_errors` runs after what failed. */
function isContainer({ name }: CaddyDirective): boolean {
  return /^(handle|handle_path|route)$/.test(name);
}

/** `/path`, `*` or `@name`; undefined without a matcher. */
export function matcherOf({ args }: CaddyDirective): string | undefined {
  const [first] = args;
  return first !== undefined && /^([/@]|\*$)/.test(first) ? first : undefined;
}

const PASS = /^(reverse_proxy|php_fastcgi)$/;

export function passesOn({ name }: CaddyDirective): boolean {
  return PASS.test(name);
}

/** Their addresses, without those that a request chooses. */
export function upstreamsOf(line: CaddyDirective): string[] {
  const listed = line.args.slice(matcherOf(line) === undefined ? 0 : 1);
  const more = line.block.filter(({ name }) => name === 'to').flatMap(({ args }) => args);
  return [...listed, ...more]
    .filter((each) => !/\{(?![$]|env\.)/.test(each))
    .map((each) => addressOf(each));
}
