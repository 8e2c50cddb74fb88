/** Looks up the lines and columns of diagnostics in the text of a file. */
import { type Diagnostic, type DiagnosticDraft, diagnostic } from './diagnostic.ts';
import { FileError } from './file-error.ts';
import type { Rule } from './rules.ts';
import { isElsewhere, NOT_SHOWN } from './text-file.ts';
import { type Path, pathText } from './yaml-path.ts';
import type { YamlText } from './yaml-text.ts';

/** Returns the diagnostics in the order of the file. */
export function placeDiagnostics(
  drafts: readonly DiagnosticDraft[],
  file: string,
  yaml: YamlText,
): Diagnostic[] {
  // Without a key that every such file has, it is another kind of file.
  if (drafts.some(({ rule, path }) => hasNoLine(rule, path)) && isElsewhere(file)) {
    return [notShown(file)];
  }
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

/** Whether a file with these mistakes is of another kind: it is no YAML, or lacks a key that every such file has. */
export function areOfAnotherKind(mistakes: readonly Diagnostic[]): boolean {
  return mistakes.some(
    ({ rule, path }) =>
      rule === 'invalid-yaml' || path === '' || (rule === 'missing-key' && /^[^.[]*$/.test(path)),
  );
}

/** Files hold digests of API keys; an author may have written the key itself by mistake. */
function mayHoldSecret(path: Path): boolean {
  return path.includes('api_key') || path.includes('sha256') || typeof path[0] === 'number';
}

/** Throws a FileError if the text is not YAML that headgate can use. `folder`: of the file that names this one, if any. */
export function refuseUnreadable(yaml: YamlText, file: string, folder?: string): void {
  if (yaml.mistakes.length === 0) return;
  if (isElsewhere(file, folder)) throw new FileError([notShown(file)]);
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

/** The author of a link may not be allowed to read the file behind it. */
function notShown(file: string): Diagnostic {
  const place = { line: 1, column: 1 };
  return diagnostic({ rule: 'unreadable-file', file, place, path: '', message: NOT_SHOWN });
}
