/** The lines of NGINX after which a request has another path than its client sent. */

import type { Directive } from '../../nginx-syntax/directive.ts';
import { expressionSamples } from '../expression-samples.ts';
import { changeTo, OLD_PATH, type PathChange, prefixReplaced } from '../path-change.ts';
import type { Rewrite } from '../rewrites.ts';
import { type CheckedServer, checkedServers } from './behind-check.ts';
import { innerLevels, type Level, levelsIn, nearest, PASS } from './levels.ts';
import { locationFor, ruleOf, UNKNOWN, uriOf } from './locations.ts';
import { type ServersOf, serversIn, valuesOf } from './upstreams.ts';

export function nginxRewrites(tree: readonly Directive[]): Rewrite[] {
  return checkedServers(tree).flatMap((checked) => {
    const { server, hosts } = checked;
    const places = new Places(checked, serversIn(server.around[0] ?? server.at));
    return movesOf(server).map(({ line, from, change, stays = false, becomesGet = false }) => ({
      what: [line.name, ...line.args].join(' '),
      place: line.where,
      hosts,
      change,
      sent: from === undefined ? [] : samplesIn(from.at),
      isApplied: (path) => places.begins(from, path),
      isServed: (path) => places.ends(stays ? from : undefined, path),
      becomesGet,
    }));
  });
}

interface Move {
  readonly line: Directive;
  /** The location in which the line is. Undefined: it stands in the server, for all of them. */
  readonly from: Level | undefined;
  readonly change: PathChange;
  /** The request stays in its location. Otherwise NGINX looks for the location of the new path. */
  readonly stays?: boolean;
  readonly becomesGet?: boolean;
}

/** What NGINX calls the path, as far as the query is no part of it. */
const URI = /\$\{?(?:uri|document_uri|request_uri|fastcgi_script_name)\b\}?/g;
const QUERY = /\$\{?(?:is_args|args|query_string)\b\}?|\?[\s\S]*$/g;

function movesOf(server: Level): Move[] {
  return levelsIn(server.at, server.around).flatMap((level) => {
    const { at, around } = level;
    const levels = [at, ...around];
    const location = levels.find(({ name }) => name === 'location');
    const from = location && { at: location, around: levels.slice(levels.indexOf(location) + 1) };
    const isPassing = at.block.some(({ name }) => PASS.test(name));
    const files = isPassing || at.name !== 'location' ? [] : nearest('index', levels);
    const changes = [
      ...at.block.flatMap((line) =>
        changesBy(line, { location, isPassing }).map((each) => ({ line, ...each })),
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

interface Surroundings {
  readonly location: Directive | undefined;
  /** The block passes requests on to an application. */
  readonly isPassing: boolean;
}

function changesBy(
  { name, args }: Directive,
  { location, isPassing }: Surroundings,
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

/** A URI in `proxy_pass` takes the place of what the location names. With a variable, it is the whole path. */
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
  return kind.startsWith('~') ? expressionSamples(text, {}) : [text];
}

class Places {
  readonly #checked: CheckedServer;
  readonly #locations: readonly Level[];
  readonly #serversOf: ServersOf;
  /** Every line of a server needs the locations of the same paths. */
  readonly #known = new Map<string, Level | undefined>();

  constructor(checked: CheckedServer, serversOf: ServersOf) {
    this.#checked = checked;
    this.#locations = innerLevels(checked.server);
    this.#serversOf = serversOf;
  }

  /** Whether a request with this path gets to the lines of a location. */
  begins(from: Level | undefined, path: string): boolean {
    if (!this.#checked.isReached(path)) return false;
    if (from === undefined || from.at.args[0]?.startsWith('@')) return true;
    const location = this.#locationFor(path);
    return location === UNKNOWN || location?.at === from.at;
  }

  /** Whether the changed request gets to an application to which the new path belongs, by a way that asks headgate. */
  ends(stayed: Level | undefined, path: string): boolean {
    const usual = this.#locationFor(path);
    if (usual === UNKNOWN) return true;
    const last = stayed ?? usual;
    if (last === undefined || !this.#checked.isChecked(last)) return false;
    const reached = this.#serversAt(last);
    if (reached.length === 0) return false;
    const own = usual === undefined ? [] : this.#serversAt(usual);
    // If no application gets the path from clients, only the application knows it.
    if (own.length === 0) return usual === undefined || !this.#checked.isChecked(usual);
    return own.some((each) => reached.includes(each));
  }

  #locationFor(path: string): Level | undefined {
    if (!this.#known.has(path)) this.#known.set(path, locationFor(path, this.#locations));
    return this.#known.get(path);
  }

  #serversAt(level: Level): readonly string[] {
    return level.at.block
      .filter(({ name }) => PASS.test(name))
      .flatMap(({ args }) => this.#serversOf(args[0] ?? '', level).flat());
  }
}
