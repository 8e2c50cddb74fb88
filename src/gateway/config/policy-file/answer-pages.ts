/** Pages of answers that stand in files of their own. */
import { isRecord } from '../../core/is-record.ts';
import { type Diagnostic, FileError } from '../diagnostic.ts';

type Written = Readonly<Record<string, unknown>>;

/** The sections of a policy file, with the texts of pages in place of the names of their files. */
export function withPages(file: unknown, read: (name: string) => string) {
  const mistakes: Diagnostic[] = [];
  const textOf = (name: string) => {
    try {
      return read(name);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      mistakes.push(...error.diagnostics);
      return undefined;
    }
  };
  const withPage = <S>(section: S): S => {
    if (!isRecord(section) || !isRecord(section.answers)) return section;
    const { answers } = section;
    if (!isFileName(answers.page)) return section;
    return { ...section, answers: { ...answers, page: textOf(answers.page) } };
  };
  const sections: Written = isRecord(file) ? withPage(file) : {};
  const policies: unknown[] = Array.isArray(sections.policies) ? sections.policies : [];
  const written: Written = { ...sections, default: withPage(sections.default) };
  return { written, policies: policies.map(withPage), mistakes };
}

/** A page in the policy file itself begins with `<`. */
function isFileName(page: unknown): page is string {
  return typeof page === 'string' && /^[^<\n]{1,250}\.html?$/.test(page);
}
