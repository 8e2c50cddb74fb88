/** The traffic of some days: the strata of its clients, and each client's requests to a route. */
import { numbers, sortedByKey } from './columns.ts';
import { ASSET, BROWSER_AGENT, CLIENT_ERROR } from './request-signs.ts';
import type { Routes } from './routes.ts';
import { Behaviour, isBot, STRATA, type Stratum, stratumOf } from './strata.ts';
import type { Recorded } from './traffic-log.ts';

export type Traffic = ReturnType<typeof trafficIn>;

/** Visits each client with its requests to the route, in order of time. */
export type VisitClient = (stratum: Stratum, timesMs: Float64Array, place: number) => void;

export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

/** `routes`: of another period of the log; otherwise those that people use in this one. */
export function trafficIn(recorded: Recorded, period: Period, routes?: Routes) {
  const { timesMs } = recorded;
  const from = firstAtOrAfter(timesMs, period.fromMs);
  const to = firstAtOrAfter(timesMs, period.toMs);
  const clientOf = recorded.clientOf.subarray(from, to);
  const order = sortedByKey(clientOf, recorded.isAddress.length);
  for (let i = 0; i < order.length; i++) order[i] = (order[i] as number) + from;
  const strata = strataOf(recorded, order);
  const split = routes ?? recorded.routes.routes(usesOf(recorded, order, strata.byClient));
  return {
    requests: to - from,
    clients: strata.clients,
    fromMs: timesMs[from] ?? 0,
    toMs: timesMs[to - 1] ?? 0,
    routes: split,
    byRoute: splitByRoute({ ...recorded, routes: split }, order, strata.byClient),
  };
}

function firstAtOrAfter(timesMs: Float64Array, momentMs: number): number {
  let low = 0;
  let high = timesMs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((timesMs[middle] as number) >= momentMs) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** `order`: indexes of requests, client after client. */
function strataOf(recorded: Recorded, order: Uint32Array) {
  const { clientOf, timesMs, agents, signs, isAddress } = recorded;
  const byClient = new Uint8Array(isAddress.length);
  const assetShare = shareOfAssets(recorded, order);
  let behaviour = new Behaviour();
  let clients = 0;
  for (let i = 0; i < order.length; i++) {
    const index = order[i] as number;
    const client = clientOf[index] as number;
    behaviour.add(timesMs[index] as number, signs[index] as number, agents[index] as number);
    if (i + 1 < order.length && clientOf[order[i + 1] as number] === client) continue;
    const stratum = stratumOf(behaviour, isAddress[client] === 1, assetShare);
    byClient[client] = STRATA.indexOf(stratum);
    behaviour = new Behaviour();
    clients++;
  }
  return { byClient, clients };
}

const SAMPLE = 100;

/** Of the first requests of each browser that were not refused, because a scraper or an attack may be most of a log. */
function shareOfAssets({ clientOf, signs }: Recorded, order: Uint32Array): number {
  let assets = 0;
  let answered = 0;
  let ofClient = 0;
  let client = -1;
  for (const index of order) {
    if (clientOf[index] !== client) ofClient = 0;
    client = clientOf[index] as number;
    const found = signs[index] as number;
    const isAnswered = (found & (CLIENT_ERROR | BROWSER_AGENT)) === BROWSER_AGENT;
    if (!isAnswered || ofClient === SAMPLE) continue;
    ofClient++;
    answered++;
    if ((found & ASSET) !== 0) assets++;
  }
  return answered === 0 ? 0 : assets / answered;
}

/** Of each group, the requests of clients that are no bots. */
function usesOf({ clientOf, groupOf }: Recorded, order: Uint32Array, strata: Uint8Array) {
  const uses = new Float64Array(1 + groupOf.reduce((most, group) => Math.max(most, group), 0));
  for (const index of order) {
    const stratum = STRATA[strata[clientOf[index] as number] as number] as Stratum;
    const group = groupOf[index] as number;
    uses[group] = (uses[group] ?? 0) + Number(!isBot(stratum));
  }
  return uses;
}

type Split = Pick<Recorded, 'clientOf' | 'groupOf' | 'timesMs'> & { readonly routes: Routes };

function splitByRoute(recorded: Split, order: Uint32Array, strata: Uint8Array): RouteTraffic[] {
  const { clientOf, groupOf, timesMs, routes } = recorded;
  const requests = routes.routes.map(() => 0);
  const routesOf = (index: number) => routes.ofGroup[groupOf[index] as number] as readonly number[];
  for (const index of order) {
    for (const route of routesOf(index)) requests[route] = (requests[route] ?? 0) + 1;
  }
  const parts = requests.map((count) => new RouteTraffic(count, strata));
  for (const index of order) {
    const client = clientOf[index] as number;
    for (const route of routesOf(index)) parts[route]?.add(client, timesMs[index] as number);
  }
  return parts;
}

export class RouteTraffic {
  readonly #timesMs: Float64Array;
  readonly #strata: Uint8Array;
  readonly #clients = numbers();
  readonly #starts = numbers();
  #length = 0;
  #lastClient = -1;

  constructor(requests: number, strata: Uint8Array) {
    this.#timesMs = new Float64Array(requests);
    this.#strata = strata;
  }

  get requests(): number {
    return this.#length;
  }

  get clients(): number {
    return this.#clients.length;
  }

  add(client: number, timeMs: number): void {
    if (client !== this.#lastClient) {
      this.#clients.push(client);
      this.#starts.push(this.#length);
      this.#lastClient = client;
    }
    this.#timesMs[this.#length++] = timeMs;
  }

  eachClient(visit: VisitClient): void {
    const { values: clients } = this.#clients;
    const { values: starts } = this.#starts;
    for (let i = 0; i < clients.length; i++) {
      const stratum = STRATA[this.#strata[clients[i] as number] as number] as Stratum;
      visit(stratum, this.#timesMs.subarray(starts[i], starts[i + 1] ?? this.#length), i);
    }
  }
}
