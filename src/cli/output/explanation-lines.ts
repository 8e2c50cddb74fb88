/** Lays out how a request was decided: steps and answer, each line with its subject. */

export interface SubjectLine {
  readonly about: string;
  readonly what: string;
}

/** The headers and the body of an answer, after what is said of it first. */
export function answerLines(
  { headers, body }: { readonly headers: readonly string[]; readonly body: string },
  first: readonly string[],
): SubjectLine[] {
  const fields = headers.flatMap((name, i) =>
    i % 2 === 0 ? [`${name}: ${headers[i + 1] ?? ''}`] : [],
  );
  const texts = [...first, ...fields, ...(body === '' ? [] : [body.trimEnd()])];
  return texts.map((what) => ({ about: 'answer', what }));
}

/** Only the first of several lines names its subject. */
export function bySubject(lines: readonly SubjectLine[]): string[] {
  return lines.map(
    ({ about, what }, i) => `${(about === lines[i - 1]?.about ? '' : about).padEnd(10)}${what}`,
  );
}
