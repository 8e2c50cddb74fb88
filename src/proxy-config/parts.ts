/**
 * The parts of a file in deploy/ that an existing configuration needs. A part starts with the comment
 * `# headgate: part for PLACE` and ends with `# headgate: end of part`. The first line says where the
 * part goes, so it is printed too.
 */
const START = /^\s*# headgate: part for /;
const END = /^\s*# headgate: end of part$/;

/** The parts, without their indentation. */
export function partsOf(text: string): string {
  const parts: string[] = [];
  let indent: string | undefined;
  for (const line of text.split('\n')) {
    if (indent === undefined && START.test(line)) {
      indent = line.slice(0, line.indexOf('#'));
      if (parts.length > 0) parts.push('');
    }
    if (indent === undefined) continue;
    parts.push(line.startsWith(indent) ? line.slice(indent.length) : line.trimStart());
    if (END.test(line)) indent = undefined;
  }
  return `${parts.join('\n')}\n`;
}
