/** What a rule says of a part of a file, before lines are counted. */
import type { Rule } from './rules.ts';
import type { Path } from './yaml-text.ts';

export interface Remark {
  readonly rule: Rule;
  readonly path: Path;
  readonly message: string;
}

export interface LocatedRemark extends Remark {
  readonly offset: number;
}

/** A name that is longer is no key of a policy file, and may be a secret in the wrong place. */
const LONGEST_SHOWN = 32;

/** `policies[2].limits[0]` */
export function pathText(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else {
      const name = part.length > LONGEST_SHOWN ? '(a long name)' : part;
      text += text === '' ? name : `.${name}`;
    }
  }
  return text;
}
