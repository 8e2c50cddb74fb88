/** Keeps what suggestions need of a log: for each request its client, its routes and its time, 21 bytes in all. */
import type { CheckContext } from '../../../gateway/core/check-context.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { NO_OVERRIDES } from '../../../gateway/core/overrides.ts';
import type { LogEntry } from '../formats/log-format.ts';
import type { LogRequests } from '../log-request.ts';
import { lastingSalts } from '../policies.ts';
import { bytes, moments, numbers } from './columns.ts';
import { CLIENT_ERROR, signsOf, UserAgents } from './request-signs.ts';
import type { RouteFinder } from './routes.ts';

export interface TrafficLogOptions {
  readonly policies: PolicySet;
  readonly requestOf: LogRequests;
  readonly routes: RouteFinder;
}

export type Recorded = Readonly<ReturnType<TrafficLog['recorded']>>;

export class TrafficLog {
  readonly leftOut = { unknownClient: 0, exempt: 0, malformed: 0 };
  /** Requests that a rate limit denied already. They are offered load, so they are counted. */
  deniedBefore = 0;
  hasHosts = false;
  hasKeys = false;
  readonly #options: TrafficLogOptions;
  readonly #salts = lastingSalts().at(0, false);
  readonly #userAgents = new UserAgents();
  readonly #clients = new Map<string, number>();
  readonly #timesMs = moments();
  readonly #clientOf = numbers();
  readonly #groupOf = numbers();
  readonly #agents = numbers();
  readonly #signs = bytes();
  readonly #isAddress = bytes();

  constructor(options: TrafficLogOptions) {
    this.#options = options;
  }

  get requests(): number {
    return this.#timesMs.length;
  }

  /** Entries must come in order of time. */
  add(entry: LogEntry): void {
    const { policies, requestOf, routes } = this.#options;
    const { leftOut } = this;
    const request = requestOf(entry);
    if (request === undefined) {
      leftOut.unknownClient++;
      return;
    }
    const context: CheckContext = {
      nowMs: entry.startMs,
      salts: this.#salts,
      overrides: NO_OVERRIDES,
      trace: undefined,
    };
    const { partition, kind, access } = policies.identify(request, context);
    if (access === 'exempt') {
      leftOut.exempt++;
      return;
    }
    const agent = this.#userAgents.read(entry.userAgent);
    const signs = signsOf(entry, agent);
    const group = routes.groupOf(request, (signs & CLIENT_ERROR) !== 0);
    if (group === undefined) {
      leftOut.malformed++;
      return;
    }
    if (entry.status === 429) this.deniedBefore++;
    if (entry.host !== undefined) this.hasHosts = true;
    this.#timesMs.push(entry.startMs);
    this.#clientOf.push(this.#clientNamed(partition, kind));
    this.#groupOf.push(group);
    this.#agents.push(agent.hash);
    this.#signs.push(signs);
  }

  /** Parallel arrays: an index for each request, in order of time. Only `isAddress` is by client, and 1 for an address. */
  recorded() {
    return {
      timesMs: this.#timesMs.values,
      clientOf: this.#clientOf.values,
      groupOf: this.#groupOf.values,
      agents: this.#agents.values,
      signs: this.#signs.values,
      isAddress: this.#isAddress.values,
      routes: this.#options.routes,
    };
  }

  #clientNamed(partition: string, kind: string): number {
    const known = this.#clients.get(partition);
    if (known !== undefined) return known;
    const client = this.#clients.size;
    this.#clients.set(partition, client);
    const isKey = kind === 'api_key' || kind === 'user';
    if (isKey) this.hasKeys = true;
    this.#isAddress.push(isKey ? 0 : 1);
    return client;
  }
}
