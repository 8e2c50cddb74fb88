/**
 * Marked regions of the files in deploy/. A region starts with the comment `# headgate: NAME` and ends with
 * `# headgate: end`, each on its own line. Its lines depend on the policy file and the settings.
 */

/** Gets the shipped lines of a region and returns the lines to print. Both are without the indentation of the region. */
export type WriteRegion = (shipped: readonly string[]) => readonly string[];

const START = /^\s*# headgate: (?!end|part )(.+)$/;
const END = /^\s*# headgate: end$/;

/** Throws an Error if the text does not have exactly the given regions. */
export function fillRegions(text: string, regions: Readonly<Record<string, WriteRegion>>): string {
  const lines: string[] = [];
  const open = new Set(Object.keys(regions));
  let name: string | undefined;
  let shipped: string[] = [];
  for (const line of text.split('\n')) {
    if (name === undefined) {
      lines.push(line);
      name = START.exec(line)?.[1];
      shipped = [];
    } else if (END.test(line)) {
      const write = regions[name];
      if (write === undefined) throw new Error(`nothing writes the region "${name}"`);
      const indent = line.slice(0, line.indexOf('#'));
      const inner = shipped.map((each) => each.slice(indent.length));
      lines.push(...write(inner).map((each) => indent + each), line);
      open.delete(name);
      name = undefined;
    } else shipped.push(line);
  }
  if (name !== undefined) throw new Error(`the region "${name}" has no end`);
  if (open.size > 0) throw new Error(`there is no region "${[...open][0]}"`);
  return lines.join('\n');
}

/** The lines of a region without their indentation; undefined if the text does not have it. */
export function regionLines(text: string, name: string): string[] | undefined {
  const lines = text.split('\n').map((line) => line.trim());
  const start = lines.indexOf(`# headgate: ${name}`);
  if (start === -1) return undefined;
  const end = lines.findIndex((line, i) => i > start && END.test(line));
  return lines.slice(start + 1, end === -1 ? undefined : end);
}

/** Replaces the shipped address, except in comments. Throws an Error if the text does not have it. */
export function replaceAddress(text: string, shipped: string, wanted: string): string {
  if (!text.includes(shipped)) throw new Error(`the file must have "${shipped}"`);
  return text
    .split('\n')
    .map((line) => (line.trimStart().startsWith('#') ? line : line.replaceAll(shipped, wanted)))
    .join('\n');
}
