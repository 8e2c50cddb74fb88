import { changeTo, escaped, OLD_PATH, type PathChange, prefixReplaced } from '../path-change.ts';
import type { Rewrite } from '../rewrites.ts';
import { fitsRule } from '../unchecked-paths.ts';
import {
  checksRewritten,
  hasCheck,
  isCheck,
  matcherOf,
  passesOn,
  upstreamsOf,
  within,
} from './directives.ts';
import { hostsOfSite, takerOf } from './routes.ts';
import type { CaddyDirective, CaddyTree } from './tree.ts';

export function caddyRewrites({ sites }: CaddyTree): Rewrite[] {
  return sites.filter(hasCheck).flatMap((site) =>
    movesIn(site).flatMap(({ line, block }) => {
      const matcher = matcherOf(line);
      const rule = matcher?.startsWith('/') ? matcher : '/*';
      return changesBy(line, matcher).map((change) => ({
        what: [line.name, ...line.args].join(' '),
        place: line.place,
        hosts: hostsOfSite(site),
        change,
        sent: [rule.replace(/\*$/, 'a-sample')],
        isApplied: (path) => fitsRule(path.toLowerCase(), rule.toLowerCase()),
        isServed: (path) => isSameApplication(site, block, path),
      }));
    }),
  );
}

function changesBy(line: CaddyDirective, matcher: string | undefined): PathChange[] {
  const args = line.args.slice(matcher === undefined ? 0 : 1);
  const [kind, from = '', to = ''] = args;
  switch (line.name) {
    case 'rewrite':
      return args.slice(0, 1).flatMap(fromTemplate);
    case 'try_files':
      // The last one also applies if no file exists.
      return args.flatMap(fromTemplate);
    case 'php_fastcgi':
      return ['{path}/index.php', '/index.php'].flatMap(fromTemplate);
    case 'handle_path':
      return [prefixReplaced((matcher ?? '').replace(/\/?\*?$/, ''), '')];
    case 'uri':
      if (kind === 'strip_prefix') return [prefixReplaced(`/${from.replace(/^\/|\/$/g, '')}`, '')];
      if (kind === 'strip_suffix') return [{ expression: `^(.*)${escaped(from)}$`, target: '$1' }];
      if (kind !== 'replace' || to === '') return [];
      return [{ expression: `^(.*?)${escaped(from)}(.*)$`, target: `$1${to}$2` }];
    default:
      return [];
  }
}

const PLACEHOLDER = /\{(?:http\.request\.)?(?:uri|path|uri\.path)\}/g;

/** Returns nothing if the new path may be any. */
function fromTemplate(template: string): PathChange[] {
  const target = template.replace(/\?.*$/, '').replaceAll(PLACEHOLDER, OLD_PATH);
  if (target === '' || /(?<!\$)\{/.test(target)) return [];
  return [changeTo(/^[/$]/.test(target) ? target : `/${target}`)];
}

const BLOCKS = /^(handle|handle_path|route|handle_errors)$/;

function isSameApplication(site: CaddyDirective, block: CaddyDirective, path: string): boolean {
  const [usual, reached] = [takerOf(site, path), takerOf(block, path)];
  if (usual === undefined || reached === undefined || usual === reached) return true;
  const applications = (line: CaddyDirective) => within(line).filter(passesOn).flatMap(upstreamsOf);
  const own = applications(usual);
  // Without an application of its own and a check, the path is one that only the application knows.
  if (own.length === 0) return !site.block.some(isCheck) && !hasCheck(usual);
  const reachedHere = applications(reached);
  return own.some((each) => reachedHere.includes(each));
}

/** Returns lines with a check before or after them, but for those whose new path is checked as well. */
function movesIn(
  block: CaddyDirective,
  isCheckedBefore = false,
): { readonly line: CaddyDirective; readonly block: CaddyDirective }[] {
  const isChecked = isCheckedBefore || block.block.some(isCheck);
  return block.block.flatMap((line) => {
    if (isCheck(line)) return [];
    // A check of the new path runs after the line.
    const next = line.name === 'handle_path' ? line : block;
    const after = within(next).filter(isCheck);
    const isMove = (isChecked || after.length > 0) && !after.some(checksRewritten);
    return [
      ...(isMove ? [{ line, block: next }] : []),
      ...(BLOCKS.test(line.name) ? movesIn(line, isChecked) : []),
    ];
  });
}
