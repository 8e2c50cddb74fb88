/**
 * Proves that reloads disturb nobody: `--reloads` of them under load, every other one with a mistake, and then a few of
 * files with thousands of policies and keys. Exits with 1 if anything is wrong.
 */
import { parseArgs } from 'node:util';
import { median, printTable } from '../../bench/support/table.ts';
import { startRedisServer } from '../support/redis-server.ts';
import { type ReloadOptions, type ReloadRun, runReloads } from '../support/reload-run.ts';

const { values } = parseArgs({ options: { reloads: { type: 'string', default: '200' } } });
const reloads = Number(values.reloads);
if (!(Number.isInteger(reloads) && reloads >= 2 && reloads % 2 === 0))
  throw new RangeError('--reloads must be an even number from 2 on');

/** As shipped. */
const STORE_TIMEOUT_MS = 50;

const FORMS: Readonly<Record<string, Omit<ReloadOptions, 'redisUrl' | 'storeTimeoutMs'>>> = {
  'a small file': { reloads, perSecond: 1_000, pauseMs: 150, otherPolicies: 0, otherKeys: 0 },
  // Whoever waits has been answered before the next one.
  '5,000 policies, 20,000 keys': {
    reloads: 10,
    perSecond: 200,
    pauseMs: 5_000,
    otherPolicies: 5_000,
    otherKeys: 20_000,
  },
};

const runs: [string, ReloadRun][] = [];
for (const [name, form] of Object.entries(FORMS)) {
  await using redis = await startRedisServer();
  const options = { ...form, redisUrl: redis.url, storeTimeoutMs: STORE_TIMEOUT_MS };
  runs.push([name, await runReloads(options)]);
}
printTable(runs.map(([name, run]) => ({ 'reloads of': name, ...decisionsOf(run) })));
console.log();
printTable(runs.map(([name, run]) => ({ 'reloads of': name, ...waitsOf(run) })));
console.log();

const wrong = runs.flatMap(([name, run]) => run.wrong.map((rule) => `${name}: ${rule}`));
for (const each of wrong) console.log(`NOT SO, ${each}`);
if (wrong.length === 0) console.log('undisturbed');
process.exitCode = wrong.length === 0 ? 0 : 1;

function decisionsOf({ decided, steps, taken, refused, unenforced }: ReloadRun) {
  const failed = decided.filter(({ status }) => status === 0 || status >= 500).length;
  return {
    requests: String(decided.length),
    'taken up': String(taken),
    refused: String(refused),
    'versions that decided': String(steps.length),
    failed: String(failed),
    'Redis was given up on': String(unenforced),
  };
}

function waitsOf(run: ReloadRun) {
  const ms = (value: number) => `${value.toFixed(0)} ms`;
  return {
    'noticed after, median': ms(median(run.noticedAfterMs)),
    most: ms(Math.max(...run.noticedAfterMs)),
    'longest wait for an answer around reloads': ms(run.longestWaitMs),
    'at other times': ms(run.longestOtherWaitMs),
  };
}
