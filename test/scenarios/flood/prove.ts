/** The long form: millions of invented identities at a moment that does not pass, so that no count ever expires. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { readEnvironment } from '../../../src/gateway/config/settings/environment.ts';
import { printTable, type Row } from '../../../tools/table.ts';
import { defineScenario } from '../scenario.ts';
import { type Flood, floodsOf } from './floods.ts';
import { mostHeld } from './judge.ts';
import type { Figures } from './process.ts';

const { memoryMaxKeys: MAX_KEYS, rememberedDenials: MAX_DENIALS } = readEnvironment({});
const MIB = 2 ** 20;
/** What an entry of the denial cache takes on average, as the cache counts. */
const DENIAL_BYTES = 1_024;
/**
 * If it has the room, V8 lets garbage grow to several times the live memory. So each flood gets a heap of this many times
 * the live memory: only then does the RSS say what is needed, and more would not fit.
 */
const ROOM_FOR_GARBAGE = 2;
/** New objects live in a part of the heap with its own limit. */
const YOUNG_GENERATION = 128 * MIB;

export const scenario = defineScenario({
  proves: 'invented identities cannot fill the memory of a gateway',
  takes: '5 min',
  options: { identities: { default: 5_000_000, least: 1_000, help: 'how many identities' } },
  async prove({ identities }) {
    const keyBytes = (await inProcess('none', identities)) as number;
    const liveBytes = MAX_KEYS * keyBytes + MAX_DENIALS * DENIAL_BYTES;
    const heapMiB = Math.ceil((ROOM_FOR_GARBAGE * liveBytes) / MIB);
    console.log(
      `${identities} identities. A key takes ${keyBytes.toFixed(0)} bytes, so ${MAX_KEYS} keys and ${MAX_DENIALS} denials ` +
        `take ${mib(liveBytes)}.\nThe heap has ${heapMiB} MiB; the RSS may grow by that and ${mib(YOUNG_GENERATION)}.\n`,
    );
    const floods = Object.entries(floodsOf(identities));
    const measured = await twoAtOnce(floods, ([name]) => inProcess(name, identities, heapMiB));
    const rows: Row[] = [];
    const wrong: string[] = [];
    for (const [i, [name, flood]] of floods.entries()) {
      const figures = measured[i] as Figures | undefined;
      if (figures !== undefined) rows.push(rowOf(name, flood, figures));
      const rules =
        figures === undefined
          ? ['fits into its heap']
          : mistakesOf(flood, figures, heapMiB * MIB + YOUNG_GENERATION);
      wrong.push(...rules.map((rule) => `${name}: ${rule}`));
    }
    printTable(rows);
    return wrong;
  },
});

function mistakesOf(flood: Flood, figures: Figures, growth: number): string[] {
  const { rssBefore, rssPeak } = figures;
  const wrong = mostHeld(flood, figures, { maxKeys: MAX_KEYS, maxDenials: MAX_DENIALS });
  if (rssPeak > rssBefore + growth) wrong.push(`the RSS stays below ${mib(rssBefore + growth)}`);
  return wrong;
}

function rowOf(name: string, { requests, mostAdmitted }: Flood, figures: Figures): Row {
  const { admitted, keys, denials, rssBefore, rssPeak, rssAfter, seconds } = figures;
  return {
    flood: name,
    identities: String(requests),
    admitted: String(admitted),
    'by the limits': String(mostAdmitted),
    'keys held': String(keys),
    'denials held': String(denials),
    'RSS before': mib(rssBefore),
    peak: mib(rssPeak),
    after: mib(rssAfter),
    seconds: seconds.toFixed(0),
  };
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

/** Results in the order of the jobs. */
async function twoAtOnce<T, R>(jobs: readonly T[], work: (job: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = jobs.entries();
  const worker = async () => {
    for (const [i, job] of left) results[i] = await work(job);
  };
  await Promise.all([worker(), worker()]);
  return results;
}

/** What the process of a flood measured; undefined if it ended before it could say. */
async function inProcess(flood: string, identities: number, heapMiB?: number): Promise<unknown> {
  const limits = heapMiB === undefined ? [] : [`--max-old-space-size=${heapMiB}`];
  const child = fork(
    fileURLToPath(new URL('process.ts', import.meta.url)),
    [flood, String(identities)],
    { execArgv: ['--expose-gc', ...limits] },
  );
  let found: unknown;
  child.on('message', (message) => {
    found = message;
  });
  // The last message arrives before the channel ends, but perhaps after the process.
  await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  return found;
}
