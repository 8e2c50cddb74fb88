/** Remembers which policies apply to a request line: most requests have the method, host and path of another one. */
import { copyOf } from '../../../gateway/core/copied-text.ts';
import { isHost } from '../../../gateway/core/matching/host.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import type { PolicyModes } from '../../../gateway/core/overrides.ts';
import type { Policy } from '../../../gateway/core/policy.ts';
import type { LogEntry } from '../formats/log-format.ts';
import { getOrAdd } from '../maps.ts';

/** If there are more, all are forgotten. */
const MAX_PATHS = 50_000;
/** Longer request lines are not remembered: an attack may have many. */
const MAX_LENGTH = 256;
const NO_NAMES: readonly string[] = [];

type RequestLine = Pick<LogEntry, 'method' | 'host' | 'target'>;

export class MatchedPolicies<Found> {
  readonly #policiesFor: (line: RequestLine) => readonly Policy[];
  readonly #compile: (applied: readonly Policy[]) => Found;
  /** By host, method and path. No text joins them, because a log in JSON can have any character in each. */
  readonly #known = new Map<string, Map<string, Map<string, Found>>>();
  #paths = 0;
  /** By the names of the policies. */
  readonly #compiled = new Map<string, Found>();

  constructor(
    policies: PolicySet,
    modes: PolicyModes,
    compile: (applied: readonly Policy[]) => Found,
  ) {
    this.#policiesFor = ({ method, host, target }) => {
      const known = host !== undefined && isHost(host) ? host : '';
      // Logs with mapped headers are decided by the production check, so MCP calls have none here.
      const line = { method, target, host: known, policy: undefined, missing: NO_NAMES };
      return policies.policiesFor(line, { modes });
    };
    this.#compile = compile;
  }

  of({ method, host = '', target }: RequestLine): Found {
    const query = target.indexOf('?');
    // Policies match paths, so the query changes nothing.
    const path = query < 0 ? target : target.slice(0, query);
    const known = this.#known.get(host)?.get(method)?.get(path);
    if (known !== undefined) return known;
    const applied = this.#policiesFor({ method, host, target: path });
    const names = applied.map(({ name }) => name).join('\n');
    const found = getOrAdd(this.#compiled, names, () => this.#compile(applied));
    const line = [host, method, path] as const;
    if (line.join('').length <= MAX_LENGTH) this.#remember(line, found);
    return found;
  }

  #remember(line: readonly [host: string, method: string, path: string], found: Found): void {
    if (this.#paths >= MAX_PATHS) {
      this.#known.clear();
      this.#compiled.clear();
      this.#paths = 0;
    }
    this.#paths++;
    const [host = '', method = '', path = ''] = line.map(copyOf);
    const ofHost = getOrAdd(this.#known, host, () => new Map<string, Map<string, Found>>());
    getOrAdd(ofHost, method, () => new Map<string, Found>()).set(path, found);
  }
}
