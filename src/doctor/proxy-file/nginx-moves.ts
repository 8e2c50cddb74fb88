/** The lines of NGINX after which a request has another path than its client sent. */

import { type Groups, matchExpression } from './expression.ts';
import { expressionSamples } from './expression-samples.ts';
import { type Level, levelsIn, nearest, PASS } from './nginx-levels.ts';
import { ruleOf } from './nginx-locations.ts';
import type { Directive } from './nginx-tree.ts';
import { valuesOf } from './nginx-upstreams.ts';

export interface Move {
  /** The line: `rewrite ^/old/(.*) /login last`. */
  readonly line: Directive;
  /** The location in which the line is. Undefined: it stands in the server, for all of them. */
  readonly from: Level | undefined;
  /** The paths that the line applies to, as an expression. */
  readonly expression: string;
  readonly ignoresCase: boolean;
  /** With `$1` and names of groups, without a query. */
  readonly target: string;
  /** The request stays in its location. Otherwise NGINX looks for the location of the new path. */
  readonly stays: boolean;
  /** NGINX makes a GET of it. */
  readonly becomesGet: boolean;
}

const ANY_PATH = '^(?<uri>.*)$';
/** What NGINX calls the path, as far as the query is no part of it. */
const URI = /\$\{?(?:uri|document_uri|request_uri|fastcgi_script_name)\b\}?/g;
const QUERY = /\$\{?(?:is_args|args|query_string)\b\}?|\?[\s\S]*$/g;

export function movesOf(server: Level): Move[] {
  return levelsIn(server.at, server.around).flatMap((level) => {
    const { at, around } = level;
    const levels = [at, ...around];
    const location = levels.find(({ name }) => name === 'location');
    const from = location && { at: location, around: levels.slice(levels.indexOf(location) + 1) };
    const move = (line: Directive, target: string, other: Partial<Move> = {}): Move[] =>
      valuesOf(target.replaceAll(QUERY, ''), level).map((each) => ({
        ...{
          line,
          from,
          expression: ANY_PATH,
          ignoresCase: false,
          stays: false,
          becomesGet: false,
        },
        target: each.replaceAll(URI, `$\{uri}`),
        ...other,
      }));
    const passes = at.block.some(({ name }) => PASS.test(name));
    return at.block
      .flatMap((line) => {
        const { name, args } = line;
        const last = args.at(-1) ?? '';
        if (name === 'rewrite') return ofRewrite(line, move, location !== undefined);
        if (name === 'proxy_pass' && location !== undefined) return ofPass(line, move, location);
        if (name === 'try_files')
          return (passes ? args : [last])
            .filter((each) => /^[/$]/.test(each))
            .flatMap((each) => move(line, each, { stays: each !== last }));
        if (
          name === 'error_page' &&
          last.startsWith('/') &&
          args.some((each) => /^4\d\d$/.test(each))
        )
          return move(line, last, { becomesGet: true });
        return [];
      })
      .concat(passes || at.name !== 'location' ? [] : ofIndex(levels, move));
  });
}

type MakeMove = (line: Directive, target: string, other?: Partial<Move>) => Move[];

function ofRewrite(line: Directive, move: MakeMove, isInLocation: boolean): Move[] {
  const [expression = '', target = '', flag] = line.args;
  const isRedirect = flag === 'redirect' || flag === 'permanent';
  if (isRedirect || /^(https?:|\$scheme)/.test(target)) return [];
  return move(line, target, { expression, stays: flag === 'break' && isInLocation });
}

/** A URI in `proxy_pass` takes the place of what the location names. With a variable, it is the whole path. */
function ofPass(line: Directive, move: MakeMove, location: Directive): Move[] {
  const url = line.args[0] ?? '';
  const [, uri] =
    /^[a-z]+:\/\/(?:unix:[^:]*:|[^/$]*(?:\$\{?(?!request_uri|uri)\w+\}?)?[^/$]*)([/$].*)$/.exec(
      url,
    ) ?? [];
  const { kind, text } = ruleOf(location);
  if (uri === undefined || text === '') return [];
  if (kind.startsWith('~'))
    return move(line, uri, { expression: text, ignoresCase: kind === '~*', stays: true });
  const rest = kind === '=' || url.includes('$') ? '' : '$1';
  return move(line, `${uri}${rest}`, { expression: `^${escaped(text)}(.*)`, stays: true });
}

function ofIndex(levels: readonly Directive[], move: MakeMove): Move[] {
  return nearest('index', levels).flatMap((line) =>
    line.args
      .filter((file) => !file.includes('$'))
      .flatMap((file) =>
        file.startsWith('/')
          ? move(line, file, { expression: '/$' })
          : move(line, `$1${file}`, { expression: '^(.*/)$' }),
      ),
  );
}

/** Paths of clients that the line may change into this one. */
export function sourcesOf(move: Move, path: string): string[] {
  const groups = groupsFor(move, path);
  if (groups === undefined) return [];
  if (groups.uri !== undefined) return [groups.uri];
  const written = expressionSamples(move.expression, groups);
  // An expression that cannot be read may match.
  if (written.length === 0) return Object.keys(groups).length === 0 ? [SAMPLE] : [];
  const inLocation = move.from === undefined ? [] : samplesIn(move.from.at);
  const samples = [...written, ...inLocation].flatMap((each) => [
    each,
    `${each}${SAMPLE.slice(1)}`,
  ]);
  return [...new Set(samples.map((each) => (each.startsWith('/') ? each : `/${each}`)))].filter(
    (each) => isMoved(move, each, groups),
  );
}

const SAMPLE = '/a-sample';
const MAX_VARIABLES = 3;
const VARIABLE = /\$(?:\{(\w+)\}|([1-9]|[a-z_]\w*))/gi;

/** What the groups of the expression must be. Undefined if the target is another path. */
function groupsFor({ target, expression: pattern }: Move, path: string): Groups | undefined {
  const parts = target.split(VARIABLE);
  const names = parts.flatMap((each, i) => (i % 3 === 0 || each === undefined ? [] : [each]));
  const isKnown = names.every((name) => /^\d$|^uri$/.test(name) || pattern.includes(`<${name}>`));
  if (!isKnown && target.replaceAll(VARIABLE, '').length < 2) return undefined;
  if (names.length > MAX_VARIABLES) return undefined;
  const expression = parts
    .filter((_, i) => i % 3 === 0)
    .map(escaped)
    .join('(.*)');
  const match = matchExpression(`^${expression}$`, { path, ignoresCase: false });
  if (match === null || match === undefined) return undefined;
  return Object.fromEntries(names.map((name, i) => [name, match[i + 1] ?? '']));
}

function isMoved({ expression, ignoresCase }: Move, path: string, groups: Groups): boolean {
  const match = matchExpression(expression, { path, ignoresCase });
  if (match === null || match === undefined) return false;
  return Object.entries(groups).every(([name, text]) => (match[name] ?? text) === text);
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}

function samplesIn(location: Directive): readonly string[] {
  const { kind, text } = ruleOf(location);
  if (text === '') return [SAMPLE];
  return kind.startsWith('~') ? expressionSamples(text, {}) : [text];
}
