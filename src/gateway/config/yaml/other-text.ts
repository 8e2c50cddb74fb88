/** Tells texts of other kinds without parsing them: the parser would report what follows from the kind, line after line. */
import type { YamlMistake } from './parser-mistakes.ts';

/** What else the text is; undefined if it may be YAML for headgate. `name`: what it should be, as in `a policy file`. */
export function otherText(text: string, name: string): YamlMistake | undefined {
  return notUtf8(text, name) ?? kubernetesObject(text, name) ?? unfinished(text);
}

export function isKubernetesObject(text: string): boolean {
  return kubernetesObject(text, '') !== undefined;
}

/** The decoder leaves U+FFFD in place of such bytes. */
function notUtf8(text: string, name: string): YamlMistake | undefined {
  const offset = text.search(/[\0\ufffd]/);
  if (offset === -1) return undefined;
  return { offset, message: `this is not UTF-8 text: save it as UTF-8, if it is ${name}` };
}

/** At the start of a line, or anywhere in JSON and in a flow map. */
const VERSION = { block: /^["']?apiVersion["']?[ \t]*:/m, flow: /["']?apiVersion["']?[ \t]*:/ };
const KIND = {
  block: /^["']?kind["']?[ \t]*:[ \t]*["']?(\w+)/m,
  flow: /["']?kind["']?[ \t]*:[ \t]*["']?(\w+)/,
};

function kubernetesObject(text: string, name: string): YamlMistake | undefined {
  const style = text.trimStart().startsWith('{') ? 'flow' : 'block';
  const version = VERSION[style].exec(text);
  const kind = KIND[style].exec(text)?.[1];
  if (version === null || kind === undefined) return undefined;
  // It may be in a list, or in a later document.
  const holder = /\bkind["']?[ \t]*:[ \t]*["']?(ConfigMap|Secret)\b/.exec(text)?.[1];
  const remedy =
    holder === undefined
      ? ''
      : ': the limits are the text below its "data", save that text as a file';
  const message = `this is a Kubernetes object (${holder ?? kind}), not ${name}${remedy}`;
  return { offset: version.index, message };
}

const UNFINISHED: readonly (readonly [RegExp, string])[] = [
  [/^(?:<{7}|>{7})(?= |$)/m, 'this line is from a merge conflict: resolve it'],
  [
    /^[^"'#\n]*?(\{\{)/m,
    'this is a template: give headgate the text that it makes, with the values in place of "{{...}}"',
  ],
  [
    /^[ \t]*[\u00a0\u2000-\u200b\u202f\u3000]/m,
    'this line is indented with other blanks: use spaces',
  ],
];

function unfinished(text: string): YamlMistake | undefined {
  for (const [sign, message] of UNFINISHED) {
    const found = sign.exec(text);
    if (found !== null) return { offset: found.index, message };
  }
  return undefined;
}
