import { type CaddyLine, type CaddyWords, caddyWords } from './caddyfile.ts';

export interface CaddyDirective {
  readonly name: string;
  readonly args: readonly string[];
  readonly block: readonly CaddyDirective[];
  readonly place: string;
}

export type CaddyTree = ReturnType<typeof caddyTree>;

const NO_BLOCK: readonly CaddyDirective[] = [];

const MAX_DIRECTIVES = 50_000;
const MAX_DEPTH = 20;

export function caddyTree(lines: readonly CaddyLine[]) {
  const top = withoutBraces(blockFrom(caddyWords(lines)));
  /** The keys are `headgate` of `(headgate)`, and `&name` of a named route. */
  const snippets = new Map<string, CaddyDirective>();
  const sites: CaddyDirective[] = [];
  let options: readonly CaddyDirective[] = [];
  for (const each of top) {
    const name = /^(&?)\((.+)\)$/.exec(each.name);
    if (name !== null) snippets.set(`${name[1]}${name[2]}`, each);
    else if (each.name === '') options = each.block;
    else sites.push(each);
  }
  const expand = expansion(snippets);
  // An import outside of sites can bring more of them.
  return { options: expand(options), snippets, sites: expand(sites) };
}

/** Without braces, everything after the addresses is the only site. */
function withoutBraces(top: readonly CaddyDirective[]): readonly CaddyDirective[] {
  const first = top.findIndex(({ name, block }) => name !== 'import' && block === NO_BLOCK);
  const site = top[first];
  if (site === undefined || site.name.startsWith('(')) return top;
  return [...top.slice(0, first), { ...site, block: top.slice(first + 1) }];
}

function blockFrom(lines: readonly CaddyWords[]): readonly CaddyDirective[] {
  let at = 0;
  const block = (): CaddyDirective[] => {
    const found: CaddyDirective[] = [];
    let head: string[] = [];
    while (at < lines.length) {
      const { words, place } = lines[at++] as CaddyWords;
      const closes = words[0] === '}';
      if (closes) break;
      const opens = words.at(-1) === '{';
      const own = [...head, ...(opens ? words.slice(0, -1) : words)];
      // The addresses of a site go on after a comma.
      head = own.at(-1)?.endsWith(',') === true && !opens ? own : [];
      if (head.length > 0) continue;
      const [name = '', ...args] = own;
      const directives = opens ? block() : NO_BLOCK;
      found.push({ name, args, block: directives, place });
    }
    return found;
  };
  const found: CaddyDirective[] = [];
  // A brace too many ends nothing.
  while (at < lines.length) found.push(...block());
  return found;
}

type Expand = (
  directives: readonly CaddyDirective[],
  depth?: number,
  fill?: Fill,
) => CaddyDirective[];

function expansion(snippets: ReadonlyMap<string, CaddyDirective>): Expand {
  let count = 0;
  const expand: Expand = (directives, depth = 0, fill = (words) => words) =>
    directives.flatMap((each) => {
      if (count++ > MAX_DIRECTIVES || depth > MAX_DEPTH) return [];
      const [name = '', ...args] = fill([each.name, ...each.args]);
      const inner = expand(each.block, depth, fill);
      const snippet = name === 'import' ? snippets.get(args[0] ?? '') : undefined;
      if (snippet === undefined) return [{ ...each, name, args, block: inner }];
      return expand(snippet.block, depth + 1, fillWith(args.slice(1))).flatMap((one) =>
        one.name === '{block}' ? inner : [one],
      );
    });
  return expand;
}

type Fill = (words: readonly string[]) => readonly string[];

/** Puts the arguments of an import into the words of its snippet: `{args[0]}`, or `{args.0}` before Caddy 2.7. */
function fillWith(args: readonly string[]): Fill {
  return (words) =>
    words.flatMap((word) => {
      if (/^\{args\[\d*:\d*\]\}$|^\{args\.\*\}$/.test(word)) return args;
      return word.replaceAll(
        /\{args(?:\[(\d+)\]|\.(\d+))\}/g,
        (all, one, other) => args[Number(one ?? other)] ?? all,
      );
    });
}
