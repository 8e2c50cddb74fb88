/** Path templates of policies: `/users/:id/files/*`. Whole segments only, and no other pattern language. */
import { canonicalPath } from '../core/path.ts';

/** Returns the template. Throws a RangeError that says how it would be right. */
export function checkPathTemplate(text: string): string {
  if (!text.startsWith('/')) throw new RangeError(`"${text}" must start with "/"`);
  if (/[?#]/.test(text)) throw new RangeError(`"${text}" must be a path without query or fragment`);
  const segments = text.slice(1).split('/');
  for (const [index, segment] of segments.entries()) {
    const isParameter = segment.startsWith(':');
    if (isParameter && !/^:[A-Za-z_]\w*$/.test(segment)) {
      throw new RangeError(`"${segment}" must be a parameter such as ":id", alone in its segment`);
    }
    if (segment.includes('*') && (segment !== '*' || index !== segments.length - 1)) {
      throw new RangeError(`"${text}" may have "*" only as its last segment, as in "/files/*"`);
    }
  }
  const canonical = canonicalPath(text, true);
  if (canonical.path !== text) {
    throw new RangeError(`"${text}" is never matched, paths are compared as "${canonical.path}"`);
  }
  return text;
}
