/** Reads a Caddyfile. */
import { FROM_ENVIRONMENT, type ProxyFacts, SECRET_HEADER } from './facts.ts';
import { linesOf } from './lines.ts';

export function caddyFacts(text: string): ProxyFacts | undefined {
  const lines = linesOf(text);
  const asks = lines.findIndex((line) => /^(rewrite|uri) \/caddy(\?|$)/.test(line));
  if (asks === -1) return undefined;
  const start = lines.findLastIndex(
    (line, i) => i < asks && /^(reverse_proxy|forward_auth) .*\{$/.test(line),
  );
  const [, ...addresses] = (lines[start] ?? '').replace(/\{$/, '').trim().split(/\s+/);
  const set = lines.flatMap((line) => {
    const [, name = '', value = ''] = /^header_up [+]?(-?[\w-]+)\s*(.*)$/.exec(line) ?? [];
    return name === '' ? [] : [{ name: name.replace(/^-/, '').toLowerCase(), value }];
  });
  const secret = set.find(({ name }) => name === SECRET_HEADER)?.value;
  return {
    proxy: 'caddy',
    passed: 'all',
    owned: new Set(set.map(({ name }) => name)),
    secret: secret?.startsWith('{') ? FROM_ENVIRONMENT : secret?.replaceAll(/^"|"$/g, ''),
    gateways: addresses
      .filter((address) => /[:/]/.test(address))
      .map((address) => address.replace(/^unix\//, 'unix:').replace(/^https?:\/\//, '')),
    losesDenials: false,
    refusesAll: !lines.some((line) => line.startsWith('handle_errors')),
  };
}
