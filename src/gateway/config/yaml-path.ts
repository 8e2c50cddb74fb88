/** The path of a value in a YAML file: keys of maps and indices of lists. */

export type Path = readonly (string | number)[];

/** A longer name is no key of a policy file, and may be a secret in the wrong place. */
const MAX_SHOWN_LENGTH = 32;

/** `policies[2].limits[0]` */
export function pathText(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else {
      const name = part.length > MAX_SHOWN_LENGTH ? '(a long name)' : part;
      text += text === '' ? name : `.${name}`;
    }
  }
  return text;
}
