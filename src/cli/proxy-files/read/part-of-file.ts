/** Files that are a part of a configuration, and cannot be examined alone. */
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { found } from './catalog.ts';

/** The first line of what `headgate proxy-config --include` prints. */
export const PRINTED_PART = /^\s*# headgate: part for /;
export function partOf(file: string, text: string): Diagnostic {
  const what = PRINTED_PART.test(text)
    ? 'is a part that headgate proxy-config has printed, and not a whole file'
    : 'is a part of an NGINX configuration: it has no block http';
  return found('part-of-proxy-file', file, what);
}
