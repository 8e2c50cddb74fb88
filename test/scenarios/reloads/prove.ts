/** The long form: hundreds of reloads of a small file, then a few of a file with thousands of policies. */
import { median, printTable } from '../../../tools/table.ts';
import { startRedisServer } from '../../support/redis-server.ts';
import { defineScenario } from '../scenario.ts';
import { replacements } from './files.ts';
import { type ReloadOptions, type ReloadRun, runReloads } from './run.ts';

/** The shipped default. */
const STORE_TIMEOUT_MS = 50;

type Form = Omit<ReloadOptions, 'redisUrl' | 'storeTimeoutMs'>;

function formsOf(pairs: number): Readonly<Record<string, Form>> {
  return {
    'a small file': {
      replacements: replacements(pairs),
      perSecond: 1_000,
      pauseMs: 150,
      otherPolicies: 0,
      otherKeys: 0,
    },
    // The pause lets every delayed request be answered before the next reload.
    '5,000 policies, 20,000 keys': {
      replacements: replacements(5),
      perSecond: 200,
      pauseMs: 5_000,
      otherPolicies: 5_000,
      otherKeys: 20_000,
    },
  };
}

export const scenario = defineScenario({
  proves: 'reloads under load lose no request and no count, and large files delay none',
  takes: '4 min',
  options: {
    reloads: { default: 200, least: 2, help: 'an even number; every other file has a mistake' },
  },
  async prove({ reloads }) {
    const runs: [string, ReloadRun][] = [];
    for (const [name, form] of Object.entries(formsOf(Math.ceil(reloads / 2)))) {
      await using redis = await startRedisServer();
      const options = { ...form, redisUrl: redis.url, storeTimeoutMs: STORE_TIMEOUT_MS };
      runs.push([name, await runReloads(options)]);
    }
    printTable(runs.map(([name, run]) => ({ 'reloads of': name, ...decisionsOf(run) })));
    console.log();
    printTable(runs.map(([name, run]) => ({ 'reloads of': name, ...waitsOf(run) })));
    return runs.flatMap(([name, run]) => run.wrong.map((rule) => `${name}: ${rule}`));
  },
});

function decisionsOf({ decided, steps, taken, refused, unenforced }: ReloadRun) {
  const failed = decided.filter(({ status }) => status === 0 || status >= 500).length;
  return {
    requests: String(decided.length),
    loaded: String(taken),
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
