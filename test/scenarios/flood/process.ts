/**
 * One flood in its own process, so that the RSS is its alone. Started by prove.ts with `FLOOD IDENTITIES`; sends its
 * figures to the parent. FLOOD is `none` to measure what one key takes.
 */
import { readEnvironment } from '../../../src/gateway/config/settings/environment.ts';
import { type Flood, floodsOf } from './floods.ts';
import { fillStore, type Held, runFlood } from './run.ts';

export interface Figures extends Held {
  readonly rssBefore: number;
  readonly rssPeak: number;
  readonly rssAfter: number;
  readonly seconds: number;
}

const { memoryMaxKeys: maxKeys, rememberedDenials: maxDenials } = readEnvironment({});
const [name = '', identities = ''] = process.argv.slice(2);

process.on('disconnect', () => process.exit(1));
const flood = Object.entries(floodsOf(Number(identities))).find(([each]) => each === name)?.[1];
const found = flood === undefined ? await measureKey() : await measureFlood(flood);
process.send?.(found, () => process.exit());

async function measureFlood(chosen: Flood): Promise<Figures> {
  const rssBefore = settledRss();
  const startedMs = performance.now();
  const { gateway, ...held } = await runFlood({ maxKeys, maxDenials }, chosen, (sent) =>
    console.error(`${name}: ${sent} of ${chosen.requests}`),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  const rssPeak = process.resourceUsage().maxRSS * 1024;
  const rssAfter = settledRss();
  // Keeps the gateway alive until here, so that its memory is measured.
  gateway.keys();
  return { ...held, rssBefore, rssPeak, rssAfter, seconds };
}

/** Compares two full stores of different sizes, so that memory which both have does not count. */
async function measureKey(): Promise<number> {
  const [small, large] = [maxKeys / 16, maxKeys / 8];
  return ((await heapOfFull(large)) - (await heapOfFull(small))) / (large - small);
}

async function heapOfFull(keys: number): Promise<number> {
  const before = heapBytes();
  const gateway = await fillStore({ maxKeys: keys, maxDenials });
  const bytes = heapBytes() - before;
  if (gateway.keys() !== keys) throw new Error(`${gateway.keys()} keys instead of ${keys}`);
  return bytes;
}

function heapBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function settledRss(): number {
  collectGarbage();
  return process.memoryUsage.rss();
}

function collectGarbage(): void {
  if (globalThis.gc === undefined) throw new Error('this needs node --expose-gc');
  globalThis.gc();
}
