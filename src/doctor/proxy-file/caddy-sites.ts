/** Which block of a Caddyfile takes a request before the check of headgate. */
import type { CaddyLine } from './caddy-imports.ts';
import { fitsRule, hostsOf, type Site } from './unchecked-paths.ts';

interface Block {
  /** The first line, without its brace. */
  readonly head: string;
  readonly place: string;
  readonly lines: readonly string[];
  /** Those directly in it. */
  readonly blocks: readonly Block[];
}

/** The sites that ask headgate. */
export function caddySites(lines: readonly CaddyLine[]): Site[] {
  return blocksIn(lines)
    .filter(({ head }) => head !== '' && !head.startsWith('('))
    .filter(asks)
    .map(siteOf);
}

function siteOf(site: Block): Site {
  const names = site.head.split(/[\s,]+/).map((name) => name.replace(/^https?:\/\/|:\d+$/g, ''));
  const routed = site.blocks.flatMap((block) => {
    const [, kind, path] = /^(handle|handle_path|route) (\/\S*)$/.exec(block.head) ?? [];
    return path === undefined ? [] : [{ block, kind, path }];
  });
  // Caddy tries the longest path first.
  routed.sort((a, b) => b.path.length - a.path.length);
  // These may take the request first, or change it.
  const isUnknown =
    site.lines.some((line) => /^(redir|rewrite|uri|try_files|import (?!headgate))/.test(line)) ||
    site.blocks.some((block) => /^(handle|route) @/.test(block.head) && asks(block));
  return {
    hosts: hostsOf(names),
    paths: routed.map(({ path }) => path.replace(/\*$/, '')),
    choose(path) {
      const found = isUnknown ? undefined : routed.find((each) => takes(each.path, path));
      if (found === undefined || !passesOn(found.block)) return undefined;
      const { head, place } = found.block;
      return { what: head, place, isUnchecked: !asks(found.block) };
    },
  };
}

/** Caddy compares paths without regard to case. */
function takes(matcher: string, path: string): boolean {
  return fitsRule(path.toLowerCase(), matcher.toLowerCase());
}

/** False if another block or snippet decides. */
function passesOn({ lines, blocks }: Block): boolean {
  if (lines.some((line) => /^(import|redir|respond|error|abort) /.test(line))) return false;
  const passes = (line: string) => /^(reverse_proxy|php_fastcgi)( |$)/.test(line);
  return lines.some(passes) || blocks.some(({ head }) => passes(head));
}

function asks({ lines, blocks }: Block): boolean {
  const isCheck = (line: string) => /^import headgate$|^(rewrite|uri) \/caddy(\?|$)/.test(line);
  return lines.some(isCheck) || blocks.some(asks);
}

function blocksIn(lines: readonly CaddyLine[]): readonly Block[] {
  let at = 0;
  const inside = (first: Pick<Block, 'head' | 'place'>): Block => {
    const own: string[] = [];
    const blocks: Block[] = [];
    while (at < lines.length) {
      const { text, place } = lines[at++] as CaddyLine;
      const line = text.trim().replaceAll(/\s+/g, ' ');
      if (line === '}') break;
      if (line === '' || line.startsWith('#')) continue;
      if (line === '{' || line.endsWith(' {'))
        blocks.push(inside({ head: line.replace(/ ?\{$/, ''), place }));
      else own.push(line);
    }
    return { ...first, lines: own, blocks };
  };
  return inside({ head: '', place: '' }).blocks;
}
