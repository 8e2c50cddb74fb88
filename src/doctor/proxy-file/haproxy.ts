/** Reads a file of HAProxy. */
import type { ProxyFacts } from './facts.ts';
import { linesOf } from './lines.ts';

export function haproxyFacts(text: string): ProxyFacts | undefined {
  const lines = linesOf(text);
  const action = lines.flatMap((line) => {
    const call = /^http-request lua\.headgate (\S+) (\S+)/.exec(line);
    return call === null ? [] : [call];
  })[0];
  if (action === undefined) return undefined;
  const secret = lines.flatMap(
    (line) =>
      /^http-request set-var\(txn\.headgate_secret\) '?str\("?(.*?)"?\)'?$/.exec(line)?.[1] ?? [],
  )[0];
  const owned = lines.flatMap(
    (line) => /^http-request (?:set|del)-header (\S+)/.exec(line)?.[1]?.toLowerCase() ?? [],
  );
  return {
    proxy: 'haproxy',
    passed: new Set((action[2] ?? '').toLowerCase().split(',')),
    owned: new Set(owned),
    secret,
    gateways: serversOf('headgate', lines),
    losesDenials: false,
    refusesAll: false,
  };
}

/** Addresses of the servers of a backend. */
function serversOf(backend: string, lines: readonly string[]): string[] {
  const start = lines.indexOf(`backend ${backend}`);
  if (start === -1) return [];
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => /^(backend|frontend|listen|defaults|global)\b/.test(line));
  return rest
    .slice(0, end === -1 ? undefined : end)
    .flatMap((line) => /^server \S+ (\S+)/.exec(line)?.[1] ?? [])
    .map((address) => address.replace(/^unix@/, 'unix:'));
}
