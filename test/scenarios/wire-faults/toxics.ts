/** Disturbs the connection of a gateway to a real Redis in one way after another, under load. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedisServer } from '../../support/redis-server.ts';
import { startTcpProxy, type TcpProxy, type Toxic } from '../../support/tcp-proxy.ts';
import {
  type Answered,
  type FaultResult,
  type Lab,
  longestWaitMs,
  modesOf,
  openLab,
  record,
  type Tolerance,
  tryFault,
  waitsOf,
  waitUntilBack,
  wrongsOf,
} from './lab.ts';

interface NamedToxic {
  readonly toxic: Toxic;
  /** For toxics that only affect new connections. */
  readonly resetsConnections?: boolean;
  /** Whether Redis counts requests meanwhile: most of them, not all, or none. */
  readonly expects: 'enforced' | 'mixed' | 'unmeasured';
}

export const TOXICS = {
  'latency 5 ms': { toxic: { latencyMs: 5 }, expects: 'enforced' },
  'latency 200 ms': { toxic: { latencyMs: 200 }, expects: 'unmeasured' },
  'jitter 0..100 ms': { toxic: { jitterMs: 100 }, expects: 'mixed' },
  'bandwidth 2 KB/s': { toxic: { bytesPerSecond: 2_000 }, expects: 'mixed' },
  'slices of 1 byte': { toxic: { sliceBytes: 1 }, expects: 'enforced' },
  'half of the connections reset at once': {
    toxic: { refusedShare: 0.5, replyEnds: { how: 'reset', share: 0.02 } },
    expects: 'mixed',
  },
  'reset inside of 1 reply in 50': {
    toxic: { replyEnds: { how: 'reset', share: 0.02 } },
    expects: 'mixed',
  },
  'reset inside of every reply': {
    toxic: { replyEnds: { how: 'reset', share: 1 } },
    expects: 'unmeasured',
  },
  'half of 1 reply in 50, then the end': {
    toxic: { replyEnds: { how: 'halved', share: 0.02 } },
    expects: 'mixed',
  },
  'half of every reply, then the end': {
    toxic: { replyEnds: { how: 'halved', share: 1 } },
    expects: 'unmeasured',
  },
  '1 reply in 50 lost after execution': {
    toxic: { replyEnds: { how: 'lost', share: 0.02 } },
    expects: 'mixed',
  },
  'half-open: accepted, never answered': {
    toxic: { isHalfOpen: true },
    resetsConnections: true,
    expects: 'unmeasured',
  },
  'black hole for requests': { toxic: { swallows: 'requests' }, expects: 'unmeasured' },
  'black hole for replies': { toxic: { swallows: 'replies' }, expects: 'unmeasured' },
  'black hole both ways': { toxic: { swallows: 'both' }, expects: 'unmeasured' },
  'partition, all arrives late': { toxic: { holds: true }, expects: 'unmeasured' },
  'slow close, 1 s': {
    toxic: { closeDelayMs: 1_000, replyEnds: { how: 'lost', share: 0.02 } },
    expects: 'mixed',
  },
} as const satisfies Readonly<{ [name: string]: NamedToxic }>;

export type ToxicName = keyof typeof TOXICS;

export interface ToxicsOptions extends Tolerance {
  readonly names: readonly ToxicName[];
  readonly perSecond: number;
  /** How long each toxic lasts. At least twice the deadline. */
  readonly toxicMs: number;
}

export interface ToxicsRun {
  /** The first one has no toxic: its noise is the noise of the machine. */
  readonly results: readonly FaultResult[];
  readonly wrong: readonly string[];
}

/** A gateway is slow until its code is compiled. */
const WARM_UP_MS = 1_500;
const MOST_RECOVERY_MS = 5_000;

export async function runToxics(options: ToxicsOptions): Promise<ToxicsRun> {
  await using redis = await startRedisServer();
  await using proxy = await startTcpProxy(redis.port);
  await using lab = await openLab(`redis://127.0.0.1:${proxy.port}`, options.deadlineMs);
  const warmUp = record(lab, options);
  await sleep(WARM_UP_MS);
  await warmUp.load.stop();
  const calm = await measure(lab, proxy, options, 'none', { toxic: {}, expects: 'enforced' });
  const results = [withVerdict(calm, calm, options)];
  for (const name of options.names) {
    const attempt = async () =>
      withVerdict(await measure(lab, proxy, options, name, TOXICS[name]), calm, options);
    results.push(await tryFault(lab, options.attempts, attempt));
    if (lab.crash !== undefined) break;
  }
  const wrong = results.flatMap((result) => result.wrong.map((each) => `${result.name}: ${each}`));
  if (lab.crash !== undefined) wrong.push(`the gateway ended: ${lab.crash}`);
  return { results, wrong };
}

async function measure(
  lab: Lab,
  proxy: TcpProxy,
  { perSecond, toxicMs, recoverWithinMs }: ToxicsOptions,
  name: ToxicName | 'none',
  { toxic, resetsConnections = false, expects }: NamedToxic,
): Promise<FaultResult> {
  const recorded = record(lab, { perSecond });
  proxy.apply(toxic);
  if (resetsConnections) proxy.resetConnections();
  const startMs = performance.now();
  await sleep(toxicMs);
  proxy.apply({});
  const healedMs = performance.now();
  const patienceMs = Math.max(recoverWithinMs, MOST_RECOVERY_MS);
  const recoveryMs = await waitUntilBack(recorded, healedMs, patienceMs);
  await recorded.load.stop();
  const { answers } = recorded;
  const during = answers.filter(({ dueMs }) => dueMs < healedMs);
  // The first requests may still be answered by Redis.
  const felt = during.filter(({ dueMs }) => dueMs >= startMs + toxicMs / 4);
  const wrongAnswers = wrongsOf(answers);
  return {
    name,
    requests: answers.length,
    waits: waitsOf(answers, false),
    noise: waitsOf(answers, true),
    modes: modesOf(during),
    recoveryMs,
    hasWrongAnswers: wrongAnswers.length > 0,
    wrong: [...wrongAnswers, ...judgeEffect(felt, expects)],
  };
}

/** Checks that the toxic had an effect. */
function judgeEffect(felt: readonly Answered[], expects: NamedToxic['expects']): string[] {
  const modes = modesOf(felt);
  const enforced = modes.get('enforced') ?? 0;
  let all = 0;
  for (const count of modes.values()) all += count;
  if (expects === 'enforced') {
    // On a busy machine some requests miss the deadline.
    return enforced > 0.2 * all ? [] : [`Redis counted only ${enforced} of ${all}`];
  }
  if (expects === 'unmeasured') {
    return enforced < 0.1 * all ? [] : [`Redis counted ${enforced} of ${all} all the same`];
  }
  return enforced < all ? [] : ['Redis counted all of them: the toxic had no effect'];
}

function withVerdict(result: FaultResult, calm: FaultResult, options: ToxicsOptions): FaultResult {
  const { waits, noise, recoveryMs } = result;
  const { recoverWithinMs } = options;
  const p99BarMs = longestWaitMs(options, Math.max(calm.noise.p99Ms, noise.p99Ms));
  const maxBarMs = longestWaitMs(options, Math.max(calm.noise.maxMs, noise.maxMs));
  const wrong = [...result.wrong];
  if (waits.p99Ms > p99BarMs) wrong.push(`p99 ${ms(waits.p99Ms)} is over ${ms(p99BarMs)}`);
  if (waits.maxMs > maxBarMs) wrong.push(`max ${ms(waits.maxMs)} is over ${ms(maxBarMs)}`);
  if (recoveryMs === undefined) wrong.push('Redis did not count again');
  else if (recoveryMs > recoverWithinMs)
    wrong.push(`Redis counted again only after ${ms(recoveryMs)}`);
  return { ...result, wrong };
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`;
}
