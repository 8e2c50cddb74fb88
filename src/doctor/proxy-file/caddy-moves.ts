/** How the lines of a Caddyfile change the path of a request. */
import { matcherOf } from './caddy-checks.ts';
import type { CaddyDirective } from './caddy-tree.ts';
import { fitsRule } from './unchecked-paths.ts';

/** Paths that become the given one. Empty: none that the file shows. */
export type SourcesOf = (path: string) => readonly string[];

/** For a matcher that may fit any path. */
const ANY_SOURCE = '/a-sample-of-a-path';

/** Undefined if the line changes no path. */
export function moveOf(line: CaddyDirective): SourcesOf | undefined {
  const matcher = matcherOf(line);
  const args = line.args.slice(matcher === undefined ? 0 : 1);
  const fits = (path: string) =>
    !matcher?.startsWith('/') || fitsRule(path.toLowerCase(), matcher.toLowerCase());
  const source = matcher?.startsWith('/') ? matcher.replace(/\*$/, 'a-sample') : ANY_SOURCE;
  const sources = sourcesOf(line, { args, source, matcher });
  return sources && ((path) => sources(path).filter((each) => each !== path && fits(each)));
}

interface Read {
  readonly args: readonly string[];
  /** A path that fits the matcher. */
  readonly source: string;
  readonly matcher: string | undefined;
}

function sourcesOf(line: CaddyDirective, { args, source, matcher }: Read): SourcesOf | undefined {
  switch (line.name) {
    case 'rewrite':
      return fromTemplate(args[0] ?? '', source);
    case 'try_files': {
      // The last one also applies if no file exists.
      const templates = args.map((each) => fromTemplate(each, source));
      return (path) => templates.flatMap((each) => each?.(path) ?? []);
    }
    case 'php_fastcgi': {
      const templates = ['{path}/index.php', '/index.php'].map((each) =>
        fromTemplate(each, source),
      );
      return (path) => templates.flatMap((each) => each?.(path) ?? []);
    }
    case 'handle_path':
      return stripped((matcher ?? '').replace(/\/?\*?$/, ''));
    case 'uri':
      return fromUri(args);
    default:
      return undefined;
  }
}

/** What comes before and after the one placeholder for the path. */
const TEMPLATE = /^([^{]*)\{(?:http\.request\.)?(?:uri|path|uri\.path)\}([^{]*)$/;

function fromTemplate(template: string, source: string): SourcesOf | undefined {
  const [written = ''] = template.split('?');
  const [, before, after] = TEMPLATE.exec(written) ?? [];
  if (before !== undefined && after !== undefined)
    return (path) =>
      path.startsWith(before) && path.endsWith(after) && path.length > before.length + after.length
        ? [path.slice(before.length, path.length - after.length)]
        : [];
  if (written === '' || written.includes('{')) return undefined;
  const target = written.startsWith('/') ? written : `/${written}`;
  return (path) => (path === target ? [source] : []);
}

function fromUri([kind, from = '', to = '']: readonly string[]): SourcesOf | undefined {
  if (kind === 'strip_prefix') return stripped(`/${from.replace(/^\/|\/$/g, '')}`);
  if (kind === 'strip_suffix') return (path) => [path + from];
  if (kind === 'replace' && to !== '')
    return (path) => (path.includes(to) ? [path.replace(to, from)] : []);
  return undefined;
}

/** A policy whose path begins with the prefix is for clients' paths. */
function stripped(prefix: string): SourcesOf {
  return (path) => (path.startsWith(prefix) ? [] : [prefix + path]);
}
