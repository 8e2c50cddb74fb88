/**
 * Proves what a gateway does when its wire to Redis goes bad: toxics between the two under load, replies that are lost
 * after Redis has counted, and a server that answers everything but what it was asked. `--losses` is how many replies
 * are lost, `--per-second` the load under toxics, `--seconds` how long each of them is at work. Exits with 1 if anything
 * is wrong.
 */
import { parseArgs } from 'node:util';
import { printTable } from '../../bench/support/table.ts';
import { BAD_ANSWERS } from '../support/wire-faults-answers.ts';
import { type BadAnswerResult, mebibytes, runBadAnswers } from '../support/wire-faults-fake.ts';
import type { Mode } from '../support/wire-faults-lab.ts';
import {
  type LossRun,
  runGatewaysThatLoseReplies,
  runLostReplies,
  runLostRepliesThatAreSentAgain,
} from '../support/wire-faults-lost-replies.ts';
import {
  runToxics,
  TOXICS,
  type ToxicName,
  type ToxicResult,
} from '../support/wire-faults-toxics.ts';

/** Half a second without an answer, the longest wait for another try, a handshake. */
const RECOVER_WITHIN_MS = 500 + 500 + 50;
const RESENDERS = 100;
const LANES = 3;
const BAD_ANSWERS_PER_SECOND = 300;

const { values } = parseArgs({
  options: {
    losses: { type: 'string', default: '10000' },
    'per-second': { type: 'string', default: '800' },
    seconds: { type: 'string', default: '2' },
  },
});
const losses = natural('--losses', values.losses);
const perSecond = natural('--per-second', values['per-second']);
const toxicMs = natural('--seconds', values.seconds) * 1_000;

console.log(
  `Toxics between a gateway and Redis, ${perSecond} requests a second, ${toxicMs} ms each\n`,
);
const toxics = await runToxics({
  names: Object.keys(TOXICS) as ToxicName[],
  perSecond,
  toxicMs,
  recoverWithinMs: RECOVER_WITHIN_MS,
  graceMs: 0,
});
printTable(toxics.results.map(toxicRow));

console.log('\nReplies that are lost after Redis has counted\n');
const lossRuns: [string, LossRun][] = [
  ['the store, on 64 connections', await runLostReplies(losses)],
  [
    'four gateways',
    await runGatewaysThatLoseReplies({
      gateways: 4,
      perSecond: 300,
      losses: Math.min(500, losses),
      withinMs: 60_000,
    }),
  ],
  ['ioredis as it is, which sends again', await runLostRepliesThatAreSentAgain(RESENDERS)],
];
printTable(lossRuns.map(lossRow));

console.log('\nA server that answers badly\n');
const badAnswers = await runBadAnswers({
  cases: BAD_ANSWERS,
  lanes: LANES,
  perSecond: BAD_ANSWERS_PER_SECOND,
  recoverWithinMs: RECOVER_WITHIN_MS,
  // Of a hundred requests each, none of those that need no Redis may meet the moment at which the machine is busy.
  graceMs: 100,
});
printTable(badAnswers.map(badAnswerRow));
console.log();

const wrong = [
  ...toxics.wrong,
  ...lossRuns.flatMap(([name, run]) => run.wrong.map((rule) => `${name}: ${rule}`)),
  ...badAnswers.flatMap((result) => result.wrong.map((each) => `${result.name}: ${each}`)),
];
for (const each of wrong) console.log(`NOT SO, ${each}`);
if (wrong.length === 0) console.log('all as promised');
process.exitCode = wrong.length === 0 ? 0 : 1;

function natural(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new RangeError(`${name} must be 1 or more`);
  return number;
}

function toxicRow({ name, requests, waits, noise, modes, recoveryMs }: ToxicResult) {
  return {
    toxic: name,
    requests: String(requests),
    p50: ms(waits.p50Ms),
    p99: ms(waits.p99Ms),
    max: ms(waits.maxMs),
    'noise, p99': ms(noise.p99Ms),
    'noise, max': ms(noise.maxMs),
    'modes meanwhile': textOf(modes),
    'back after': ms(recoveryMs),
  };
}

function lossRow([name, { requests, lost, counted, countedTwice }]: [string, LossRun]) {
  return {
    client: name,
    requests: String(requests),
    'replies lost': String(lost),
    counted: String(counted),
    'counted twice': String(countedTwice),
  };
}

function badAnswerRow(result: BadAnswerResult) {
  const { name, waits, modes, reasons, grownBytes, recoveryMs, wrong } = result;
  return {
    answer: name.length > 48 ? `${name.slice(0, 47)}…` : name,
    max: ms(waits.maxMs),
    'noise, max': ms(result.noise.maxMs),
    'modes meanwhile': textOf(modes),
    reasons: textOf(reasons),
    MiB: mebibytes(grownBytes),
    'back after': ms(recoveryMs),
    right: wrong.length === 0 ? 'yes' : 'NO',
  };
}

function textOf(counts: ReadonlyMap<Mode | string, number>): string {
  return Array.from(counts, ([name, count]) => `${name} ${count}`).join(', ');
}

function ms(value: number | undefined): string {
  return value === undefined ? 'never' : `${value.toFixed(0)} ms`;
}
