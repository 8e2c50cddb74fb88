/** Why a route is not the one of a request, found out by asking the matcher about parts of it. */
import { compileMatcher, type Route } from './matcher.ts';
import type { Policy } from './policy.ts';

/** Undefined for a route that matches. */
export function missOf(
  route: Route<Policy>,
  request: { readonly method: string; readonly host: string },
  path: string,
): string | undefined {
  const matches = (part: Omit<Route<Policy>, 'value'>) =>
    compileMatcher([{ ...part, value: route.value }])(request.method, request.host, path) !==
    undefined;
  if (matches(route)) return undefined;
  const misses = [
    ...(matches({ path: route.path }) ? [] : [`path ${route.path}`]),
    ...(matches({ host: route.host }) ? [] : [`host ${route.host}`]),
    ...(matches({ methods: route.methods }) ? [] : [`method ${route.methods?.join(', ')}`]),
  ];
  return `is for ${misses.join(' and ')}`;
}
