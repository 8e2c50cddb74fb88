export interface Line {
  readonly words: readonly string[];
  readonly number: number;
  readonly place: string;
}

export interface Section {
  readonly kind: string;
  readonly name: string;
  readonly number: number;
  readonly place: string;
  readonly lines: readonly Line[];
  readonly defaults: Section | undefined;
  /** The section names its `defaults`. */
  readonly isFrom: boolean;
}

const KINDS = new Set(
  'frontend listen backend defaults global userlist peers resolvers mailers cache program ring http-errors fcgi-app log-forward crt-store traces log-profile acme'.split(
    ' ',
  ),
);

export function haproxySections(file: string, text: string): Section[] {
  const sections: (Section & { lines: Line[] })[] = [];
  let last: Section | undefined;
  for (const [i, each] of text.split('\n').entries()) {
    const words = wordsOf(each);
    const [kind = '', ...rest] = words;
    const place = `${file}:${i + 1}`;
    if (words.length === 0) continue;
    if (!KINDS.has(kind)) {
      sections.at(-1)?.lines.push({ words, number: i + 1, place });
      continue;
    }
    const from = rest.indexOf('from');
    const named = from === -1 ? undefined : rest[from + 1];
    const known = sections.findLast((other) => other.kind === 'defaults' && other.name === named);
    // A `defaults` section inherits only from one that it names.
    const defaults = named === undefined && kind !== 'defaults' ? last : known;
    const name = from === 0 ? '' : (rest[0] ?? '');
    const isFrom = named !== undefined;
    const section = { kind, name, number: i + 1, place, lines: [], defaults, isFrom };
    sections.push(section);
    if (kind === 'defaults') last = section;
  }
  return sections;
}

export function linesWithin(section: Section): readonly Line[] {
  const { defaults, lines } = section;
  return defaults === undefined ? lines : [...linesWithin(defaults), ...lines];
}

export function isCheck({ words: [first, action] }: Line): boolean {
  return first === 'http-request' && action === 'lua.headgate';
}

export function gatewayOf(sections: readonly Section[]): Section | undefined {
  return sections.find(({ kind, name }) => kind === 'backend' && name === 'headgate');
}

const WORD = /\s*((?:[^\s"'\\#]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+)/y;
const QUOTED = /"((?:[^"\\]|\\.)*)"|'([^']*)'|\\([\s"'\\#])/g;

function wordsOf(line: string): string[] {
  const words: string[] = [];
  WORD.lastIndex = 0;
  for (let match = WORD.exec(line); match !== null; match = WORD.exec(line)) {
    const [, word = ''] = match;
    words.push(word.replaceAll(QUOTED, '$1$2$3').replaceAll('\\"', '"'));
  }
  return words;
}
