/** Sets of requests that a policy can name, and what two of them have in common. */
import { isHostWithin } from '../../../gateway/core/matching/host.ts';
import { commonPath, covers } from './paths.ts';

export interface RequestSet {
  readonly host: string | undefined;
  readonly template: string;
  readonly methods?: readonly string[] | undefined;
}

export function contains(outer: RequestSet, inner: RequestSet): boolean {
  return (
    hasHost(outer.host, inner.host) &&
    hasMethods(outer.methods, inner.methods) &&
    covers(outer.template, inner.template)
  );
}

function setKey({ host = '', template, methods }: RequestSet): string {
  return JSON.stringify([host, template.toLowerCase(), methods && [...methods].sort()]);
}

/** Undefined if no request is in both. */
export function overlap(a: RequestSet, b: RequestSet): RequestSet | undefined {
  if (!hasHost(a.host, b.host) && !hasHost(b.host, a.host)) return undefined;
  const template = commonPath(a.template, b.template);
  const methods = a.methods?.filter((each) => b.methods?.includes(each) !== false) ?? b.methods;
  if (template === undefined || methods?.length === 0) return undefined;
  return { host: hasHost(a.host, b.host) ? b.host : a.host, template, methods };
}

/** The sets and all that several of them have in common, so that each request has one smallest set. */
export function withOverlaps(
  sets: readonly RequestSet[],
  refuseTooMany: (count: number) => void,
): RequestSet[] {
  const known = new Map(sets.map((each) => [setKey(each), each]));
  const given = [...known.values()];
  // The loop reaches what it adds.
  for (const each of known.values()) {
    for (const other of given) {
      const both = overlap(each, other);
      if (both === undefined || known.has(setKey(both))) continue;
      known.set(setKey(both), both);
      refuseTooMany(known.size);
    }
  }
  return [...known.values()];
}

/** Grows with every step to a smaller set. */
export function narrowness({ host, template, methods }: RequestSet): number {
  const ofHost = host === undefined ? 0 : host.startsWith('*') ? host.length : 1_000;
  const segments = template.slice(1).split('/');
  const ofSegment = (segment: string) => (segment === '*' ? 1 : segment.startsWith(':') ? 2 : 3);
  const ofPath = segments.reduce((sum, segment) => sum + ofSegment(segment), 0);
  const ofEnd = segments.at(-1) === '*' ? 0 : 2;
  return ofHost + ofPath + ofEnd + (methods === undefined ? 0 : 1_000 - methods.length);
}

/** Whether every request for the inner host is one for the outer. Undefined is every host. */
export function hasHost(outer: string | undefined, inner: string | undefined): boolean {
  return outer === undefined || (inner !== undefined && isHostWithin(inner, outer));
}

type Methods = readonly string[] | undefined;

function hasMethods(outer: Methods, inner: Methods): boolean {
  if (outer === undefined) return true;
  return inner?.every((method) => outer.includes(method)) === true;
}

/** headgate counts HEAD as GET, so a policy for HEAD alone would apply to GET. */
export function countedMethods(names: readonly string[]): string[] {
  const upper = names.map((name) => name.toUpperCase());
  return upper.filter((name) => name !== 'HEAD' || upper.includes('GET'));
}
