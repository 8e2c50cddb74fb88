/** The lines of a file without indentation, comments and empty lines. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim().replaceAll(/[ \t]+/g, ' '))
    .filter((line) => line !== '' && !line.startsWith('#'));
}
