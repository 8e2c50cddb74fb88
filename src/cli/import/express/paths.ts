/** Makes paths of a policy file out of the paths of Express. */

import { templatesOf } from '../shared/path-regex.ts';
import { ANY_PATH, literalPath, pathsBelow, segmentText, valid } from '../shared/paths.ts';
import type { RegisteredPath } from './registrations.ts';

export interface PathQuery {
  readonly prefix: string;
  readonly path: RegisteredPath;
  /** Whether paths below it match too, as with `use`. */
  readonly isOpen: boolean;
}

/** Undefined if a policy file cannot name the path. */
export function templatesOfPath({ prefix, path, isOpen }: PathQuery): string[] | undefined {
  const { text, isRegex } = path;
  if (text === undefined) return undefined;
  if (isRegex) return prefix === '' ? templatesOf(text.replaceAll('\\/', '/')) : undefined;
  const joined = `${prefix}${text.startsWith('/') ? text : `/${text}`}`;
  if (!/[:*(){}?+[\]]/.test(joined)) {
    const template = isOpen ? pathsBelow(joined) : literalPath(joined);
    return template === undefined ? undefined : [template];
  }
  return patternTemplates(joined, isOpen);
}

const PARAMETER = /^:\w+(?:\([^()]*\))?$/;
const REST = /^(?:\*\w*|\(\.\*\)|:\w+\(\.\*\)|:\w+[*+])$/;
const OPTIONAL = /^:\w+\?$/;

function patternTemplates(joined: string, isOpen: boolean): string[] | undefined {
  const segments = joined.split('/').filter((segment) => segment !== '');
  const written: string[] = [];
  for (const [i, segment] of segments.entries()) {
    const isLast = i === segments.length - 1;
    const start = `/${written.join('/')}`;
    if (isLast && REST.test(segment)) return all([written.length === 0 ? ANY_PATH : `${start}/*`]);
    if (isLast && OPTIONAL.test(segment))
      return all([start, `${start === '/' ? '' : start}/:p${i + 1}`]);
    if (PARAMETER.test(segment)) written.push(`:p${i + 1}`);
    else if (/[:*(){}?+[\]]/.test(segment)) return undefined;
    else written.push(segmentText(segment));
  }
  return all([`/${written.join('/')}${isOpen ? '/*' : ''}`]);
}

function all(templates: readonly string[]): string[] | undefined {
  const known = templates.map(valid).filter((template) => template !== undefined);
  return known.length === templates.length ? known : undefined;
}
