/** Which applications a line of a Caddyfile passes requests to. */
import { matcherOf } from './checks.ts';
import type { CaddyDirective } from './tree.ts';

const PASS = /^(reverse_proxy|php_fastcgi)$/;

export function passesOn({ name }: CaddyDirective): boolean {
  return PASS.test(name);
}

/** One name for each application: `127.0.0.1:3000`, `unix//run/app.sock`. Those that a request chooses are left out. */
export function upstreamsOf(line: CaddyDirective): string[] {
  const listed = line.args.slice(matcherOf(line) === undefined ? 0 : 1);
  const more = line.block.filter(({ name }) => name === 'to').flatMap(({ args }) => args);
  return [...listed, ...more].filter((each) => !/\{(?![$]|env\.)/.test(each)).map(addressOf);
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', h2c: '80', https: '443' };

/** Caddy adds the port of the scheme, or 80, and 127.0.0.1 is also `localhost`, `[::1]` or a port alone. */
export function addressOf(written: string): string {
  const [, scheme = 'http', rest = ''] = /^(?:([a-z0-9]+):\/\/)?(.*?)\/?$/i.exec(written) ?? [];
  if (/^unix[+/]/.test(written)) return written.replace(/^unix\+h2c/, 'unix');
  const [, host = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(rest) ?? [];
  const name = /^(|localhost|\[::1?\]|0\.0\.0\.0|127\.\d+\.\d+\.\d+)$/i.test(host)
    ? '127.0.0.1'
    : host.toLowerCase();
  if (rest.includes('{$') || rest.includes('{env.')) return rest;
  return `${name}:${port || DEFAULT_PORTS[scheme.toLowerCase()] || '80'}`;
}
