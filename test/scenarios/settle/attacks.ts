/** Attacks on settlements: what each tried, and what it gained. */

import { floodOf } from './attack-flood.ts';
import { AttackLab, LIMIT, RESERVED, SMALL_LIMIT, UNKNOWN } from './attack-lab.ts';
import { forgedTokens } from './forged-tokens.ts';

export interface AttackOptions {
  readonly redisUrl: string;
  /** Valid tokens of which variants are made, about 2,000 of each. */
  readonly tokens: number;
  readonly aborted: number;
  readonly garbage: number;
}

interface AttackRow {
  readonly attack: string;
  readonly tries: number;
  readonly outcome: string;
}

export interface AttackRun {
  readonly rows: readonly AttackRow[];
  readonly wrong: readonly string[];
}

interface Attack {
  readonly lab: AttackLab;
  readonly add: (attack: string, tries: number, outcome: string) => void;
  /** Complains unless it is so. */
  readonly must: (isSo: boolean, rule: string) => void;
}

const BATCH = 100;
const STREAMS = 100;
const REFUSED = ['forged', 'malformed', 'bad_request'];

export async function runAttacks(options: AttackOptions): Promise<AttackRun> {
  await using stack = new AsyncDisposableStack();
  const lab = await AttackLab.start(options.redisUrl, stack);
  const rows: AttackRow[] = [];
  const wrong: string[] = [];
  const attack: Attack = {
    lab,
    add: (name, tries, outcome) => void rows.push({ attack: name, tries, outcome }),
    must: (isSo, rule) => void (isSo || wrong.push(rule)),
  };
  await forge(attack, options.tokens);
  await replay(attack);
  await reportTooMuch(attack);
  await openStreams(attack);
  await abort(attack, options.aborted);
  await floodOf(attack, options.garbage);
  return { rows, wrong };
}

async function forge({ lab, add, must }: Attack, count: number): Promise<void> {
  const numbered = Array.from({ length: count }, (_, i) => i);
  const tokensOf = async (from: AttackLab['foreign'] | undefined) => {
    const some = numbered.map((i) => lab.token(`forger ${i}`, 'chat', from ? { from } : {}));
    return (await Promise.all(some)).map(String);
  };
  const own = await tokensOf(undefined);
  const foreign = await tokensOf(lab.foreign);
  const variants = forgedTokens(own, foreign);
  const before = await lab.counters();
  const results: Record<string, number> = {};
  for (let i = 0; i < variants.length; i += BATCH) {
    const some = variants.slice(i, i + BATCH);
    // One that is too long for a body is sent alone.
    const isLarge = some.some((each) => each.length > 10_000);
    const batches = isLarge ? some.map((each) => [each]) : [some];
    for (const batch of batches) {
      const reports = batch.map((token) => ({ token, status: 204, units: { tokens: 0 } }));
      for (const each of await lab.settle(reports)) results[each] = (results[each] ?? 0) + 1;
    }
  }
  const accepted = Object.keys(results).filter((each) => !REFUSED.includes(each));
  must(accepted.length === 0, `forged tokens were answered ${accepted.join()}`);
  must((await lab.counters()) === before, 'forged tokens change no count');
  const answers = Object.entries(results).map(([result, times]) => `${times} ${result}`);
  add(
    'forged, cut and foreign tokens',
    variants.length,
    `${answers.join(', ')}; counts changed: 0`,
  );
}

/** The same token again and again, at the same moment and through both gateways. The first report counts. */
async function replay({ lab, add, must }: Attack): Promise<void> {
  const [victim, thief] = ['replayed', 'thief'];
  const token = String(await lab.token(victim));
  await lab.token(thief);
  const report = { token, units: { tokens: 0 } };
  const calls = Array.from({ length: 10 }, () => lab.settle(Array(BATCH).fill(report)));
  const results = (await Promise.all(calls)).flat();
  const settled = results.filter((each) => each === 'settled').length;
  const charged = [await lab.charged(victim), await lab.charged(thief)];
  must(settled === 1, 'a token is settled once');
  must(charged[0] === 0 && charged[1] === RESERVED, 'a token gives back what its request took');
  const text = `${settled} settled; its client is charged ${charged[0]}, another ${charged[1]}`;
  add('one token replayed', results.length, text);
}

async function reportTooMuch({ lab, add, must }: Attack): Promise<void> {
  const client = 'too much';
  const tokens = [await lab.token(client), await lab.token(client)].map(String);
  const units = { tokens: 2 ** 53 };
  const refused = await lab.settle([{ token: tokens[0] ?? '', units }]);
  must(refused[0] === 'bad_request', '2^53 units are refused');
  must((await lab.charged(client)) === 2 * RESERVED, 'a refused report changes nothing');
  const largest = { tokens: Number.MAX_SAFE_INTEGER };
  await lab.settle([{ token: tokens[0] ?? '', units: largest }]);
  const once = await lab.charged(client);
  must(once === 2 * RESERVED + LIMIT, 'a surplus adds at most the limit');
  await lab.settle([{ token: tokens[1] ?? '', units: { tokens: 0 } }]);
  must((await lab.charged(client)) === once - RESERVED, 'other requests are settled as they were');
  add(
    '2^53 and 2^53 - 1 units',
    2,
    `refused, and charged ${once} (2 x ${RESERVED} + the limit ${LIMIT})`,
  );
}

/** At the same moment: those that fit are admitted, and are charged what they took. */
async function openStreams({ lab, add, must }: Attack): Promise<void> {
  const streams = async (client: string, path: string, used: number, reserve?: string) => {
    const asked = Array.from({ length: STREAMS }, () =>
      lab.token(client, path, reserve === undefined ? {} : { reserve }),
    );
    const tokens = (await Promise.all(asked)).filter((each) => each !== undefined);
    await lab.settle(tokens.map((token) => ({ token, units: { tokens: used } })));
    const next = await lab.token(client, path, reserve === undefined ? {} : { reserve });
    return { admitted: tokens.length, charged: await lab.charged(client, path), next };
  };
  const used = UNKNOWN;
  const plain = await streams('streams', 'chat', used);
  const fit = LIMIT / RESERVED;
  must(plain.admitted === fit, `${fit} streams are admitted at once`);
  must(plain.charged === LIMIT + fit * (used - RESERVED), 'streams are charged what they took');
  must(plain.next === undefined, 'no other stream is admitted then');
  const beyond = (charged: number, limit: number) =>
    `${charged}, ${charged - limit} beyond ${limit}`;
  add(
    `parallel streams, ${RESERVED} reserved, ${used} used`,
    STREAMS,
    `${plain.admitted} admitted, charged ${beyond(plain.charged, LIMIT)}; then 0`,
  );
  const tiny = await streams('tiny', 'tiny', SMALL_LIMIT, '1');
  must(tiny.admitted === SMALL_LIMIT, 'tiny reservations count');
  must(
    tiny.charged === SMALL_LIMIT * SMALL_LIMIT && tiny.next === undefined,
    'tiny ones are charged',
  );
  add(
    `parallel streams, 1 reserved, ${SMALL_LIMIT} used`,
    STREAMS,
    `${tiny.admitted} admitted, charged ${beyond(tiny.charged, SMALL_LIMIT)}; then 0`,
  );
}

/** What they reserve is any number, or none that can be read. */
async function abort({ lab, add, must }: Attack, count: number): Promise<void> {
  const reserves = [
    '0',
    '1',
    '799',
    '801',
    '5000',
    '-1',
    '0x10',
    '',
    '1e9',
    '99999999999999999999',
  ];
  let [least, below] = [Number.POSITIVE_INFINITY, 0];
  for (let i = 0; i < count; i += BATCH) {
    const aborting = Array.from({ length: Math.min(BATCH, count - i) }, async (_, j) => {
      const client = `aborting ${i + j}`;
      const reserve = reserves[(i + j) % reserves.length] ?? '';
      const token = String(await lab.token(client, 'estimated', { reserve }));
      const silent = [{}, { status: 200 }, { status: 500, units: { pears: 0 } }][j % 3];
      await lab.settle([{ token, ...silent }]);
      const charged = await lab.charged(client, 'estimated');
      const reserved = /^\d+$/.test(reserve) ? Math.min(Number(reserve), LIMIT) : UNKNOWN;
      least = Math.min(least, charged);
      if (charged !== Math.max(reserved, UNKNOWN)) below++;
    });
    await Promise.all(aborting);
  }
  must(below === 0, `${below} aborted requests are not charged the larger of unknown and reserve`);
  add(
    'requests whose outcome says no units',
    count,
    `charged at least ${least} (unknown ${UNKNOWN}); less: ${below}`,
  );
}
