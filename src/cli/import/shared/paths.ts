import { checkHostTemplate } from '../../../gateway/config/policy-file/match.ts';
import { checkPathTemplate, targetOf } from '../../../gateway/config/policy-file/path-template.ts';
import { canonicalPath } from '../../../gateway/core/path/path.ts';

export const ANY_PATH = '/*';

/** Servers execute these for `/login.php/x` too, so the policy has to match that. */
const EXECUTED = /\.(php\d?|phtml|cgi|fcgi|pl|py|aspx?|jspx?|cfm)$/i;

/**
 * A path that stands for itself. Undefined if a policy file cannot name it. Trailing slashes do not matter, and a
 * program such as `/login.php` is matched with what follows it.
 */
export function literalPath(path: string): string | undefined {
  if (!path.startsWith('/')) return undefined;
  const { path: canonical, malformed } = canonicalPath(targetOf(path), true);
  if (malformed || canonical.includes('\0')) return undefined;
  const written = canonical.split('/').map(segmentText).join('/');
  return valid(EXECUTED.test(canonical) ? `${written}/*` : written);
}

export function pathsBelow(path: string): string | undefined {
  const literal = literalPath(path)?.replace(/\/\*$/, '');
  if (literal === undefined) return undefined;
  return literal === '/' || literal === '' ? ANY_PATH : valid(`${literal}/*`);
}

export function segmentText(segment: string): string {
  return segment.replaceAll(/[%{}[\]()<>$^+|*:\\`"?#\s]/g, (char) =>
    encodeURIComponent(char) === char
      ? `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
      : encodeURIComponent(char),
  );
}

/** The template if a policy file can have it. */
export function valid(template: string): string | undefined {
  try {
    return checkPathTemplate(template);
  } catch {
    return undefined;
  }
}

/** Whether every path of the second template is also one of the first. */
export function covers(outer: string | undefined, inner: string | undefined): boolean {
  const wide = segmentsOf(outer);
  const narrow = segmentsOf(inner);
  for (const [i, segment] of wide.entries()) {
    if (segment === '*') return true;
    const other = narrow[i];
    if (other === undefined || other === '*') return false;
    if (!segment.startsWith(':') && segment.toLowerCase() !== other.toLowerCase()) return false;
  }
  return wide.length === narrow.length;
}

/** Finds the narrowest of the templates that cover this one and more. */
export function nearestAround<T extends { readonly template: string | undefined }>(
  template: string | undefined,
  all: readonly T[],
): T | undefined {
  const wider = all.filter(
    (each) =>
      each.template !== undefined && each.template !== template && covers(each.template, template),
  );
  return narrowest(wider, (outer, inner) => covers(outer.template, inner.template));
}

export function narrowest<T>(
  all: readonly T[],
  isWider: (outer: T, inner: T) => boolean,
): T | undefined {
  const [first, ...others] = all;
  if (first === undefined) return undefined;
  return others.reduce((nearest, each) => (isWider(nearest, each) ? each : nearest), first);
}

function segmentsOf(template = ANY_PATH): string[] {
  return template.slice(1).split('/');
}

/** Lower case and without a port. Undefined if a policy file cannot name it. */
export function hostOf(text: string): string | undefined {
  const host = text
    .toLowerCase()
    .replace(/:\d{1,5}$/, '')
    .replace(/\.$/, '');
  try {
    return checkHostTemplate(host);
  } catch {
    return undefined;
  }
}
