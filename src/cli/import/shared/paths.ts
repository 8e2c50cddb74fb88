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
export function covers(outer: string, inner: string): boolean {
  const wide = segmentsOf(outer);
  const narrow = segmentsOf(inner);
  for (const [i, segment] of wide.entries()) {
    if (segment === '*') return true;
    const other = narrow[i];
    if (other === undefined || other === '*') return false;
    if (!isSegmentOf(segment, other)) return false;
  }
  return wide.length === narrow.length;
}

/** The paths of both templates, as a template. Undefined if there are none. */
export function commonPath(a: string, b: string): string | undefined {
  const [left, right] = [segmentsOf(a), segmentsOf(b)];
  const common: string[] = [];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [one, other] = [left[i], right[i]];
    if (one === '*') return `/${[...common, ...right.slice(i)].join('/')}`;
    if (other === '*') return `/${[...common, ...left.slice(i)].join('/')}`;
    if (one === undefined || other === undefined) return undefined;
    if (isSegmentOf(one, other)) common.push(other);
    else if (isSegmentOf(other, one)) common.push(one);
    else return undefined;
  }
  return `/${common.join('/')}`;
}

/** A parameter is never empty. */
function isSegmentOf(wide: string, narrow: string): boolean {
  return wide.startsWith(':') ? narrow !== '' : wide.toLowerCase() === narrow.toLowerCase();
}

function segmentsOf(template: string): string[] {
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
