/** Finds where NGINX passes on another path than the one that headgate checks, and a policy for it does not apply. */
import type { ValidFile } from '../../config/policy-file/compile.ts';
import type { PolicyEntry } from '../../config/policy-file/policy-schema.ts';
import { routeMatchOf } from '../../config/policy-file/route.ts';
import { innerLevels, isChecked, type Level, PASS } from './nginx-levels.ts';
import { locationFor, UNKNOWN } from './nginx-locations.ts';
import { type Move, movesOf, sourcesOf } from './nginx-moves.ts';
import { hostsOfServer, serversThatAsk } from './nginx-sites.ts';
import type { Directive } from './nginx-tree.ts';
import { type ApplicationsOf, applicationsIn } from './nginx-upstreams.ts';
import type { Rewrite } from './rewrites.ts';
import { compilePaths, limitingEntries, samplesOf } from './unchecked-paths.ts';

export function nginxRewrites(tree: readonly Directive[], file: ValidFile): Rewrite[] {
  return serversThatAsk(tree).flatMap((server) => {
    const site = { hosts: hostsOfServer(server.at) };
    const entries = limitingEntries(site, file);
    if (entries.length === 0) return [];
    const http = server.around[0] ?? server.at;
    const places = new Places(server, applicationsIn(http, tree));
    const policiesFor = compilePaths(entries, {
      hosts: site.hosts,
      caseSensitive: file.caseSensitive,
    });
    const isAvoided = (entry: PolicyEntry, path: string) =>
      !policiesFor(path).some((name) =>
        isAsGood(
          entries.find((each) => each.name === name),
          entry,
        ),
      );
    const avoidedBy = (move: Move) =>
      entries.filter((entry) => {
        if (move.becomesGet && !allowsGet(entry)) return false;
        return samplesOf(routeMatchOf(entry, true).path ?? '/').some(
          (path) =>
            policiesFor(path).includes(entry.name) &&
            places.ends(move, path) &&
            sourcesOf(move, path).some(
              (source) => places.begins(move, source) && isAvoided(entry, source),
            ),
        );
      });
    const found = new Map<Directive, Set<string>>();
    for (const move of movesOf(server)) {
      const policies = found.get(move.line) ?? new Set();
      for (const { name } of avoidedBy(move)) policies.add(name);
      found.set(move.line, policies);
    }
    return [...found].flatMap(([{ name, args, place }, policies]) =>
      policies.size === 0
        ? []
        : [{ what: [name, ...args].join(' '), place, policies: [...policies] }],
    );
  });
}

/** The same policy, one with the same limits, or one that somebody wrote for this path. */
function isAsGood(found: PolicyEntry | undefined, entry: PolicyEntry): boolean {
  if (found === undefined || found === entry) return found !== undefined;
  const limits = ({ limits, plans }: PolicyEntry) => JSON.stringify([limits, plans]);
  return !found.match?.path?.endsWith('*') || limits(found) === limits(entry);
}

function allowsGet({ match }: PolicyEntry): boolean {
  const methods = match?.method ?? [];
  return methods.length === 0 || methods.includes('GET') || methods.includes('HEAD');
}

class Places {
  readonly #locations: readonly Level[];
  readonly #applicationsOf: ApplicationsOf;

  /** By path, because every line of a server asks for the same paths. */
  readonly #known = new Map<string, Level | undefined>();

  constructor(server: Level, applicationsOf: ApplicationsOf) {
    this.#locations = innerLevels(server);
    this.#applicationsOf = applicationsOf;
  }

  /** Whether a request with this path gets to the line. */
  begins({ from }: Move, path: string): boolean {
    if (from === undefined || from.at.args[0]?.startsWith('@')) return true;
    const location = this.#locationFor(path);
    return location === UNKNOWN || location?.at === from.at;
  }

  /** Whether the moved request gets to an application to which the new path belongs, by a way that asks headgate. */
  ends({ from, stays }: Move, path: string): boolean {
    const usual = this.#locationFor(path);
    if (usual === UNKNOWN) return true;
    const last = stays ? from : usual;
    if (last === undefined || !isChecked(last)) return false;
    const reached = this.#applicationsAt(last);
    if (reached.length === 0) return false;
    const own = usual === undefined ? [] : this.#applicationsAt(usual);
    // Without an application of its own, the path is one that only the application knows.
    if (own.length === 0) return usual === undefined || !isChecked(usual);
    return own.some((each) => reached.includes(each));
  }

  #locationFor(path: string): Level | undefined {
    if (!this.#known.has(path)) this.#known.set(path, locationFor(path, this.#locations));
    return this.#known.get(path);
  }

  #applicationsAt(level: Level): readonly string[] {
    return level.at.block
      .filter(({ name }) => PASS.test(name))
      .flatMap(({ args }) => this.#applicationsOf(args[0] ?? '', level));
  }
}
