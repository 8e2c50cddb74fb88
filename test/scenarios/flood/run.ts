/** Runs floods against a gateway without servers and says what it holds afterwards. */
import { setImmediate } from 'node:timers/promises';
import type { CheckRequest } from '../../../src/gateway/core/check-request.ts';
import { type Capacity, createGateway, type Flood, floodsOf, type Gateway } from './floods.ts';

export interface Held {
  readonly admitted: number;
  readonly keys: number;
  readonly denials: number;
}

const YIELD_EVERY = 100_000;

/** `onProgress` hears of every hundred thousandth request. */
export async function runFlood(
  capacity: Capacity,
  { requests, request }: Flood,
  onProgress: (sent: number) => void = () => {},
): Promise<Held & { readonly gateway: Gateway }> {
  const gateway = createGateway(capacity);
  let admitted = 0;
  for (let i = 0; i < requests; i++) {
    if ((await gateway.ask(request(i))).verdict === 'allow') admitted++;
    if (i % YIELD_EVERY !== 0) continue;
    onProgress(i);
    // Lets the process notice that its parent has gone.
    await setImmediate();
  }
  const keys = gateway.keys();
  const denials = await countDenials(gateway, capacity, (back) => request(requests - 1 - back));
  return { admitted, keys, denials, gateway };
}

/** The cache does not report its size, so the latest requests are sent again, backwards, until one is not cached. */
async function countDenials(
  gateway: Gateway,
  { maxDenials }: Capacity,
  requestBack: (back: number) => CheckRequest,
): Promise<number> {
  let found = 0;
  for (; found <= maxDenials; found++) {
    const before = gateway.remembered();
    await gateway.ask(requestBack(found));
    if (gateway.remembered() === before) break;
  }
  return found;
}

const TIMES_FULL = 3;

/** Fills a store of this many keys three times over. Returns its gateway, so that its memory can be measured. */
export async function fillStore(capacity: Capacity): Promise<Gateway> {
  const identities = TIMES_FULL * capacity.maxKeys;
  const { request } = floodsOf(identities)['IPv6 /64 networks by a CDN'];
  const gateway = createGateway(capacity);
  for (let i = 0; i < identities; i++) await gateway.ask(request(i));
  return gateway;
}
