/** Looks up the lines and columns of diagnostics in the text of a file. */
import { type Diagnostic, type DiagnosticDraft, diagnostic } from './diagnostic.ts';
import { FileError } from './file-error.ts';
import type { Rule } from './rules.ts';
import { type Path, pathText } from './yaml-path.ts';
import type { YamlText } from './yaml-text.ts';

/** Returns the diagnostics in the order of the file. */
export function placeDiagnostics(
  drafts: readonly DiagnosticDraft[],
  file: string,
  yaml: YamlText,
): Diagnostic[] {
  return drafts
    .map((draft) => ({ ...draft, offset: draft.offset ?? yaml.offsetOf(draft.path) }))
    .sort((a, b) => a.offset - b.offset)
    .map(({ rule, offset, path, message }) =>
      diagnostic({
        rule,
        file,
        place: yaml.place(offset),
        path: pathText(path),
        message: path.length === 0 ? `the file ${message}` : message,
        excerpt: hasNoLine(rule, path) || mayHoldSecret(path) ? undefined : yaml.excerpt(offset),
      }),
    );
}

/** A key that is missing at the top of the file has no line. */
function hasNoLine(rule: Rule, path: Path): boolean {
  return path.length === 0 || (rule === 'missing-key' && path.length === 1);
}

/** Files hold digests of API keys; an author may have written the key itself by mistake. */
function mayHoldSecret(path: Path): boolean {
  return path.includes('api_key') || path.includes('sha256') || typeof path[0] === 'number';
}

/** Throws a FileError if the text is not YAML that headgate can use. */
export function refuseUnreadable(yaml: YamlText, file: string): void {
  if (yaml.mistakes.length === 0) return;
  throw new FileError(
    yaml.mistakes.map(({ offset, message }) =>
      diagnostic({
        rule: 'invalid-yaml',
        file,
        place: yaml.place(offset),
        path: '',
        message,
        excerpt: yaml.excerpt(offset),
      }),
    ),
  );
}
