/** For proxies that match one text of a request: its method, host and target, with a blank between them. */
import type { FailureRule } from './gateway-failure.ts';

/** Without a blank: a host of several words must not be taken for a target. */
const QUERY = '([?][^ ]*)?';
const ANY = '[^ ]*';

/** The regular expression of a rule, with anchors. `origin` may stand before the path. */
export function keyPattern({ method, host, path }: FailureRule, origin = ''): string {
  return `^${method ?? ANY} ${host ?? ANY} ${origin}${path ?? '[^?]*'}${QUERY}$`;
}

/** The same for a target alone, without anchors. */
export function targetPattern(path: string): string {
  return `${path}${QUERY}`;
}
