/** The long form: every toxic, thousands of lost replies, and every wrong answer. */
import { printTable } from '../../../tools/table.ts';
import { defineScenario } from '../scenario.ts';
import { type BadAnswerResult, mebibytes, runBadAnswers } from './answering-badly.ts';
import { BAD_ANSWERS } from './bad-answers.ts';
import { DEFAULT_DEADLINE_MS, type FaultResult, type Mode } from './lab.ts';
import {
  type LossRun,
  runGatewaysThatLoseReplies,
  runLostReplies,
  runLostRepliesThatAreSentAgain,
} from './lost-replies.ts';
import { runToxics, TOXICS, type ToxicName } from './toxics.ts';

/** Half a second without an answer, the longest wait before a new attempt, a handshake. */
const RECOVER_WITHIN_MS = 500 + 500 + 50;
const TOLERANCE = {
  deadlineMs: DEFAULT_DEADLINE_MS,
  recoverWithinMs: RECOVER_WITHIN_MS,
  attempts: 2,
} as const;
const RESENDERS = 100;
const LANES = 3;
const BAD_ANSWERS_PER_SECOND = 300;

export const scenario = defineScenario({
  proves:
    'bad wires to Redis, lost replies and wrong answers delay no request and count none twice',
  takes: '3 min',
  options: {
    losses: { default: 10_000, least: 1, help: 'how many replies are lost' },
    'per-second': { default: 800, least: 1, help: 'requests per second under toxics' },
    seconds: { default: 2, least: 1, help: 'how long each toxic works' },
  },
  async prove({ losses, 'per-second': perSecond, seconds }) {
    return [
      ...(await proveToxics(perSecond, seconds * 1_000)),
      ...(await proveLosses(losses)),
      ...(await proveBadAnswers()),
    ];
  },
});

async function proveToxics(perSecond: number, toxicMs: number): Promise<readonly string[]> {
  console.log(`Toxics between gateway and Redis, ${perSecond} requests/s, ${toxicMs} ms each\n`);
  const toxics = await runToxics({
    names: Object.keys(TOXICS) as ToxicName[],
    perSecond,
    toxicMs,
    ...TOLERANCE,
    graceMs: 0,
  });
  printTable(toxics.results.map(toxicRow));
  return toxics.wrong;
}

async function proveLosses(losses: number): Promise<string[]> {
  console.log('\nReplies that are lost after Redis has counted\n');
  const gateways = { gateways: 4, perSecond: 300, losses: Math.min(500, losses) };
  const runs: [string, LossRun][] = [
    ['the store, on 64 connections', await runLostReplies(losses)],
    ['four gateways', await runGatewaysThatLoseReplies({ ...gateways, withinMs: 60_000 })],
    ['plain ioredis, which sends again', await runLostRepliesThatAreSentAgain(RESENDERS)],
  ];
  printTable(runs.map(lossRow));
  return runs.flatMap(([name, run]) => run.wrong.map((rule) => `${name}: ${rule}`));
}

async function proveBadAnswers(): Promise<string[]> {
  console.log('\nA server that gives wrong answers\n');
  const results = await runBadAnswers({
    cases: BAD_ANSWERS,
    lanes: LANES,
    perSecond: BAD_ANSWERS_PER_SECOND,
    ...TOLERANCE,
    // Each case has only a hundred requests that need no Redis, too few to meet every busy moment of the machine.
    graceMs: 100,
  });
  printTable(results.map(badAnswerRow));
  return results.flatMap(({ name, wrong }) => wrong.map((each) => `${name}: ${each}`));
}

function toxicRow({ name, requests, waits, noise, modes, recoveryMs }: FaultResult) {
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
