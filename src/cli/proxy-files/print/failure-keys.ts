/** Patterns for proxies that match one text: method, host and target of a request, separated by spaces. */
import type { FailureRule } from './gateway-failure.ts';

/** Without spaces, so that part of a host with spaces cannot match as a target. */
const QUERY = '([?][^ ]*)?';
const ANY = '[^ ]*';

/** The regular expression of a rule, with anchors. `origin`: a pattern that can precede the path. */
export function keyPattern({ method, host, path }: FailureRule, origin = ''): string {
  return `^${method ?? ANY} ${host ?? ANY} ${origin}${path ?? '[^?]*'}${QUERY}$`;
}

/** The same for a target alone, without anchors. */
export function targetPattern(path: string): string {
  return `${path}${QUERY}`;
}
