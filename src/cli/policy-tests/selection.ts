/** Chooses tests by their names. */

/** Whether a test is run. `title`: the file and the name of the test. */
export type Selects = (title: string) => boolean;

/** How a test is called where its file must be named too. */
export function titleOf(file: string, test: string): string {
  return `${file} › ${test}`;
}

/** Throws a SyntaxError if the pattern is not a regular expression. */
export function selectionBy(pattern: string): Selects {
  // The user of the command writes the pattern, so a slow one harms nobody else.
  const expression = new RegExp(pattern, 'u');
  return (title) => expression.test(title);
}
