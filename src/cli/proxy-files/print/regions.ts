/**
 * Marked regions and parts of the files in deploy/. A region stands between the comments `# headgate: NAME` and
 * `# headgate: end`, and depends on the policy file and the settings. A part stands between
 * `# headgate: part for PLACE` and `# headgate: end of part`, and is what an existing configuration needs. The first line
 * of a part says where it goes, so it is printed too.
 */

/** Returns the lines to print. These and the shipped lines are without the indentation of the region. */
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

export function regionLines(text: string, name: string): string[] | undefined {
  const lines = text.split('\n').map((line) => line.trim());
  const start = lines.indexOf(`# headgate: ${name}`);
  if (start === -1) return undefined;
  const end = lines.findIndex((line, i) => i > start && END.test(line));
  return lines.slice(start + 1, end === -1 ? undefined : end);
}

const PART = /^([ \t]*)# headgate: part for [\s\S]*?# headgate: end of part$/gm;

export function partsOf(text: string): string {
  const parts = [...text.matchAll(PART)].map(([part, indent = '']) =>
    part
      .split('\n')
      .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line.trimStart()))
      .join('\n'),
  );
  return `${parts.join('\n\n')}\n`;
}

/** Finds parts with this word among the first three of their place. Throws a RangeError, which names the words of `known`. */
export function partsFor(word: string, text: string, known: readonly string[] = []): string {
  const all = partsOf(text).split(BETWEEN);
  const found = all.filter((part) => firstWords(placeOf(part)).includes(word.toLowerCase()));
  if (found.length > 0) return found.join('');
  if (known.length > 0)
    throw new RangeError(`there is no part for "${word}"; name one of ${known.join(', ')}`);
  const places = [...new Set(all.map(placeOf))].join('; ');
  throw new RangeError(`there is no part for "${word}"; the parts are for: ${places}`);
}

const BETWEEN = /^(?=# headgate: part for )/m;

function placeOf(part: string): string {
  return /^# headgate: part for (.*)/.exec(part)?.[1] ?? '';
}

function firstWords(place: string): string[] {
  return place
    .toLowerCase()
    .split(/[^a-z]+/)
    .slice(0, 3);
}
