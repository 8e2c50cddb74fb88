/** Sample requests for a policy. If it matches none of them, it never matches. */
import type { WrittenRoute } from '../../../gateway/config/policy-file/match.ts';
import { targetOf } from '../../../gateway/config/policy-file/path-template.ts';
import type { HeaderFields } from '../../../gateway/core/check-request.ts';
import type { RouteMatch } from '../../../gateway/core/matching/matcher.ts';
import { WITHOUT_HEADERS } from '../../../gateway/core/mcp/mcp-call.ts';

export const { METHODS } = process.getBuiltinModule('node:http');

export interface Sample {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly target: string;
  readonly headers: HeaderFields;
}

const UNLIKELY = 'a-sample';

/** `all` are the routes of all policies, with their paths as the file has them. */
export function samplesOf({ match }: WrittenRoute, all: readonly WrittenRoute[]): Sample[] {
  const host = match.host?.replace('*', UNLIKELY) ?? `${UNLIKELY}.invalid`;
  return methodsOf(match, all).flatMap((method) =>
    pathsOf(match, all).flatMap((path) =>
      callsOf(match).map((headers) => ({ method, host, path, headers, target: targetOf(path) })),
    ),
  );
}

/** For a policy without `mcp`: no headers, and a call that no policy names. */
function callsOf({ mcp }: RouteMatch): HeaderFields[] {
  if (mcp?.method === WITHOUT_HEADERS) return [{}];
  const [method, name] = [mcp?.method, mcp?.name].map((text = '*') => text.replace(/\*$/, '~'));
  // No beginning of a method and hardly one of a name has "~". Names may have characters that headers have not.
  const encoded = `=?base64?${Buffer.from(`${name}`).toString('base64')}?=`;
  const call = { 'mcp-method': method, 'mcp-name': encoded, 'mcp-protocol-version': '2026-07-28' };
  return mcp === undefined ? [{}, call] : [call];
}

/** For a policy without a method: GET, and a method that no policy names. */
function methodsOf({ methods }: RouteMatch, all: readonly WrittenRoute[]): readonly string[] {
  if (methods !== undefined) return methods;
  const named = all.flatMap(({ match }) => match.methods ?? []);
  const unnamed = METHODS.find((method) => method !== 'HEAD' && !named.includes(method));
  return unnamed === undefined ? METHODS : ['GET', unnamed];
}

/** A final `*` is tried with one segment, none, and more than any policy has. */
function pathsOf({ path = '/*' }: RouteMatch, all: readonly WrittenRoute[]): string[] {
  const segments = path.slice(1).split('/');
  const filled = segments.map((segment) => (segment.startsWith(':') ? UNLIKELY : segment));
  if (filled.at(-1) !== '*') return [`/${filled.join('/')}`];
  const before = filled.slice(0, -1);
  const deepest = all.reduce((most, { match }) => Math.max(most, depthOf(match)), 0);
  return [1, 0, deepest].map(
    (count) => `/${[...before, ...Array.from({ length: count }, () => UNLIKELY)].join('/')}`,
  );
}

function depthOf({ path = '' }: RouteMatch): number {
  return path.split('/').length;
}
