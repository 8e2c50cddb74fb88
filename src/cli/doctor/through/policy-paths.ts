import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { pathRoutesOf } from '../../../gateway/config/policy-file/match.ts';
import { targetOf } from '../../../gateway/config/policy-file/path-template.ts';
import type { PolicyEntry, ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import { isHostWithin } from '../../../gateway/core/matching/host.ts';
import { found } from '../catalog.ts';
import { send, type Target } from './request.ts';

const MOST_PATHS = 20;

export type PolicyPaths = ReturnType<typeof policyPaths>;

/** Lists the paths of policies for this host, without the path of the URL. */
export function policyPaths({ answers, entries }: ValidFile, { url, host }: Target) {
  const name = (host ?? url.host).replace(/:\d+$/, '').toLowerCase();
  const isShown = (entry: PolicyEntry) => (entry.answers?.headers ?? answers.headers) !== 'off';
  const named = entries
    .filter((entry) => isShown(entry) && concerns(entry, name))
    .flatMap(namedPaths);
  const isPattern = ({ written }: NamedPath) => /\/(:|\*$)/.test(written);
  const plain = new Map(
    named.filter((each) => !isPattern(each)).map(({ target, policy }) => [target, policy]),
  );
  plain.delete(url.pathname);
  const all = [...plain].map(([target, policy]) => ({ target, policy }));
  const patterns = named.filter(isPattern).map(({ written }) => written);
  return {
    tried: all.slice(0, MOST_PATHS),
    /** Patterns, and paths beyond the maximum. */
    untried: [...all.slice(MOST_PATHS).map(({ target }) => target), ...new Set(patterns)],
  };
}

function concerns({ match, mode }: PolicyEntry, host: string): boolean {
  const isHere = match?.host === undefined || isHostWithin(host, match.host);
  return mode !== 'off' && isHere;
}

type NamedPath = ReturnType<typeof namedPaths>[number];

/** Without `/*`, which names no path. */
function namedPaths(entry: PolicyEntry) {
  return pathRoutesOf(entry, true).flatMap(({ match: { path = '/*' }, written = path }) =>
    written === '/*' ? [] : [{ written, target: targetOf(path), policy: entry.name }],
  );
}

/** Sends HEAD, so that applications change nothing and send no body. */
export async function* pathFindings(
  { tried, untried }: PolicyPaths,
  target: Target,
): AsyncGenerator<Diagnostic> {
  const limited: string[] = [];
  for (const { policy, target: path } of tried) {
    const url = new URL(path, target.url);
    const reply = await send({ ...target, url }, [], 'HEAD');
    if (reply instanceof Error) continue;
    const { status, limit, bypass } = reply;
    if (limit !== undefined) limited.push(path);
    // The proxy answers a redirect itself. With X-RateLimit-Bypass it has sent a check.
    else if (bypass === undefined && (status < 300 || status > 399))
      yield found(
        'not-limited',
        url.href,
        `policy ${policy} is for this path, and HEAD got status ${status} without X-RateLimit-Limit`,
      );
  }
  const sentences: string[] = [];
  if (limited.length > 0) sentences.push(`headgate checks ${limited.join(', ')}, too`);
  if (untried.length > 0)
    sentences.push(`not tried: ${untried.join(', ')} (name such a URL with --through)`);
  if (sentences.length > 0) yield found('through', target.url.href, sentences.join('; '));
}
