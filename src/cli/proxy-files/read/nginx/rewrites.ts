import { type Directive, directiveText } from '../../nginx-syntax/directive.ts';
import { expressionSamples } from '../expression-samples.ts';
import { changeTo, OLD_PATH, type PathChange, prefixReplaced } from '../path-change.ts';
import type { Rewrite } from '../rewrites.ts';
import { innerLevels, type Level, levelsIn, nearest, passesOf } from './levels.ts';
import { locationFor, ruleOf, UNKNOWN, uriOf } from './locations.ts';
import { type CheckedServer, checkedServers } from './sites.ts';
import { serversIn, valuesOf } from './upstreams.ts';

export function nginxRewrites(tree: readonly Directive[]): Rewrite[] {
  return checkedServers(tree).flatMap((checked) => {
    const { server, hosts } = checked;
    const { begins, ends } = placesIn(checked);
    return movesOf(server).map(({ line, from, change, stays = false, becomesGet = false }) => ({
      what: directiveText(line),
      place: line.where,
      hosts,
      change,
      sent: from === undefined ? [] : samplesIn(from[0]),
      isApplied: (path) => begins(from, path),
      isServed: (path) => ends(stays ? from : undefined, path),
      becomesGet,
    }));
  });
}

interface Move {
  readonly line: Directive;
  /** The location with the line. Undefined if the line stands in the server, for all of them. */
  readonly from: Level | undefined;
  readonly change: PathChange;
  /** The request stays in its location. Otherwise NGINX looks for the location of the new path. */
  readonly stays?: boolean;
  readonly becomesGet?: boolean;
}

const URI = /\$\{?(?:uri|document_uri|request_uri|fastcgi_script_name)\b\}?/g;
const QUERY = /\$\{?(?:is_args|args|query_string)\b\}?|\?[\s\S]*$/g;

function movesOf(server: Level): Move[] {
  return levelsIn(server).flatMap((level) => {
    const [at] = level;
    const start = level.findIndex(({ name }) => name === 'location');
    const [location, ...around] = start === -1 ? [] : level.slice(start);
    const from: Level | undefined = location && [location, ...around];
    const isPassing = passesOf(at).length > 0;
    const files = isPassing || at.name !== 'location' ? [] : nearest('index', level);
    const changes = [
      ...at.block.flatMap((line) =>
        changesBy(line, location, isPassing).map((each) => ({ line, ...each })),
      ),
      ...files.flatMap((line) => indexes(line).map((change) => ({ line, change }))),
    ];
    return changes.flatMap((move) =>
      valuesOf(move.change.target.replaceAll(QUERY, ''), level).map((target) => ({
        ...move,
        from,
        change: { ...move.change, target: target.replaceAll(URI, OLD_PATH) },
      })),
    );
  });
}

function changesBy(
  { name, args }: Directive,
  location: Directive | undefined,
  isPassing: boolean,
): Pick<Move, 'change' | 'stays' | 'becomesGet'>[] {
  const [first = '', second = '', flag = ''] = args;
  const last = args.at(-1) ?? '';
  if (name === 'rewrite') {
    if (/^(redirect|permanent)$/.test(flag) || /^(https?:|\$scheme)/.test(second)) return [];
    const change = { expression: first, target: second };
    return [{ change, stays: flag === 'break' && location !== undefined }];
  }
  if (name === 'proxy_pass' && location !== undefined)
    return passed(first, location).map((change) => ({ change, stays: true }));
  if (name === 'try_files')
    return (isPassing ? args : [last])
      .filter((each) => /^[/$]/.test(each))
      .map((each) => ({ change: changeTo(each), stays: each !== last }));
  const isForClients = args.some((each) => /^4\d\d$/.test(each));
  if (name !== 'error_page' || !last.startsWith('/') || !isForClients) return [];
  return [{ change: changeTo(last), becomesGet: true }];
}

/** A URI in `proxy_pass` replaces what the location names, or with a variable the whole path. */
function passed(url: string, location: Directive): PathChange[] {
  const uri = uriOf(url, location);
  const { kind, text } = ruleOf(location);
  if (uri === undefined) return [];
  if (kind.startsWith('~')) return [{ expression: text, ignoresCase: kind === '~*', target: uri }];
  const change = prefixReplaced(text, uri);
  return [kind === '=' || url.includes('$') ? { ...change, target: uri } : change];
}

function indexes({ args }: Directive): PathChange[] {
  return args
    .filter((file) => !file.includes('$'))
    .map((file) =>
      file.startsWith('/')
        ? { expression: '/$', target: file }
        : { expression: '^(.*/)$', target: `$1${file}` },
    );
}

function samplesIn(location: Directive): readonly string[] {
  const { kind, text } = ruleOf(location);
  return kind.startsWith('~') ? expressionSamples(text) : [text];
}

function placesIn({ server, isChecked, isReached }: CheckedServer) {
  const locations = innerLevels(server);
  const [at, http = at] = server;
  const serversOf = serversIn(http);
  /** Every line of a server needs the locations of the same paths. */
  const known = new Map<string, Level | undefined>();
  const locationOf = (path: string): Level | undefined => {
    if (!known.has(path)) known.set(path, locationFor(path, locations));
    return known.get(path);
  };
  const serversAt = (level: Level) =>
    passesOf(level[0]).flatMap((pass) => serversOf(pass, level).flat());
  return {
    begins(from: Level | undefined, path: string): boolean {
      if (!isReached(path)) return false;
      if (from === undefined || from[0].args[0]?.startsWith('@')) return true;
      const location = locationOf(path);
      return location === UNKNOWN || location?.[0] === from[0];
    },
    /** Tells whether the changed request gets, by a checked route, to an application to which the new path belongs. */
    ends(stayed: Level | undefined, path: string): boolean {
      const usual = locationOf(path);
      if (usual === UNKNOWN) return true;
      const last = stayed ?? usual;
      if (last === undefined || !isChecked(last)) return false;
      const reached = serversAt(last);
      if (reached.length === 0) return false;
      const own = usual === undefined ? [] : serversAt(usual);
      // If no application gets the path from clients, only the application knows it.
      if (own.length === 0) return usual === undefined || !isChecked(usual);
      return own.some((each) => reached.includes(each));
    },
  };
}
