/** Pages of answers that stand in files of their own. */
import { isRecord } from '../../core/is-record.ts';
import { type Diagnostic, FileError } from '../diagnostic.ts';

/** `withPage` puts the text of the file in place of its name, and adds to `mistakes` if it cannot be read. */
export function pageReading(read: (name: string) => string) {
  const mistakes: Diagnostic[] = [];
  const withPage = (answers: unknown): unknown => {
    if (!isRecord(answers) || !isFileName(answers.page)) return answers;
    try {
      return { ...answers, page: read(answers.page) };
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      mistakes.push(...error.diagnostics);
      return { ...answers, page: undefined };
    }
  };
  return { withPage, mistakes };
}

/** A page in the policy file itself begins with `<`. */
function isFileName(page: unknown): page is string {
  return typeof page === 'string' && /^[^<\n]{1,250}\.html?$/.test(page);
}
