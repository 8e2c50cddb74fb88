/** Which applications a line of a Caddyfile passes requests to. */
import { addressOf } from '../addresses.ts';
import { matcherOf } from './checks.ts';
import type { CaddyDirective } from './tree.ts';

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
