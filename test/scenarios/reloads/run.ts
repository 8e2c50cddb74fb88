/**
 * Replaces files of a gateway under load, every other time by one with a mistake. Every answer has the numbers of the files
 * that decided it, so each decision can be compared with the files that were in force.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLoad } from '../../../tools/load/open-loop.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { FIRST_STATE, Files, type OtherEntries, type Replacement, type State } from './files.ts';
import { judgeReloads } from './judge.ts';
import { ReloadLog, type Result, reloadsCounted } from './reload-log.ts';
import { type Decided, read, requestOf } from './requests.ts';

export interface ReloadOptions extends OtherEntries {
  readonly redisUrl: string;
  /** Each is done twice: first with a mistake, then without. */
  readonly replacements: readonly Replacement[];
  readonly perSecond: number;
  /** Between two reloads, so that each version decides requests. */
  readonly pauseMs: number;
  readonly storeTimeoutMs: number;
}

/** A state, and when it was loaded: after its file was written, and before the gateway logged it. */
export interface Step {
  readonly state: State;
  readonly writtenMs: number;
  readonly confirmedMs: number;
}

export interface ReloadRecord {
  readonly steps: readonly Step[];
  readonly decided: readonly Decided[];
}

export interface ReloadRun extends ReloadRecord {
  /** How many files the gateway loaded, and how many it refused. */
  readonly taken: number;
  readonly refused: number;
  /** The longest wait for an answer, from when a request was due: around reloads, and at other times. */
  readonly longestWaitMs: number;
  readonly longestOtherWaitMs: number;
  /** From the replacement of a file until the gateway logs the result. */
  readonly noticedAfterMs: readonly number[];
  readonly unenforced: number;
  /** Expectations that were not met. */
  readonly wrong: readonly string[];
}

/** The load generator itself may be late by this. */
const AROUND_MS = 50;

export async function runReloads(options: ReloadOptions): Promise<ReloadRun> {
  await using cleanUp = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'headgate-reloads-'));
  cleanUp.defer(() => rm(folder, { recursive: true }));
  const files = new Files(folder, options);
  const gateway = cleanUp.use(
    await startGatewayProcess({
      HEADGATE_REDIS_URL: options.redisUrl,
      HEADGATE_POLICIES: files.path('policies'),
      HEADGATE_CLOUDFLARE_RANGES: files.path('ranges'),
      HEADGATE_STORE_TIMEOUT_MS: String(options.storeTimeoutMs),
    }),
  );
  const decided: Decided[] = [];
  const load = startLoad({
    url: gateway.url,
    perSecond: options.perSecond,
    request: requestOf,
    onOutcome: (outcome) => decided.push(read(outcome)),
    patienceMs: 30_000,
  });
  cleanUp.defer(() => load.stop());
  await sleep(options.pauseMs);
  const { steps, spans, told } = await replaceAll(files, gateway, options);
  await load.stop();
  const record = { steps, decided };
  const counts = await reloadsCounted(gateway);
  return {
    ...record,
    ...counts,
    ...waitsOf(decided, spans),
    noticedAfterMs: spans.map(({ fromMs, toMs }) => toMs - fromMs),
    unenforced: decided.filter(({ isEnforced }) => !isEnforced).length,
    wrong: [...judgeReloads(record), ...judgeCounted(counts, told, options.replacements)],
  };
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

async function replaceAll(
  files: Files,
  gateway: GatewayProcess,
  { replacements, pauseMs }: Pick<ReloadOptions, 'replacements' | 'pauseMs'>,
) {
  let state: State = FIRST_STATE;
  const steps: Step[] = [{ state, writtenMs: 0, confirmedMs: 0 }];
  const spans: Span[] = [];
  const log = new ReloadLog(gateway);
  for (const { file, way } of replacements) {
    for (const isBroken of [true, false]) {
      const next = { ...state, [file]: state[file] + (isBroken ? 1 : 2) };
      const text = files.text(file, next, isBroken);
      const fromMs = performance.now();
      files.replace(file, way, text);
      if (way === 'signalled') gateway.signal('SIGHUP');
      await log.until(isBroken ? 'refused' : 'loaded');
      const toMs = performance.now();
      spans.push({ fromMs, toMs });
      if (!isBroken) {
        state = next;
        steps.push({ state, writtenMs: fromMs, confirmedMs: toMs });
      }
      await sleep(pauseMs);
    }
  }
  log.readOn();
  return { steps, spans, told: log.told };
}

function waitsOf(decided: readonly Decided[], spans: readonly Span[]) {
  let longestWaitMs = 0;
  let longestOtherWaitMs = 0;
  for (const { dueMs, answeredMs } of decided) {
    const waitMs = answeredMs - dueMs;
    const isAround = spans.some(
      ({ fromMs, toMs }) => dueMs <= toMs + AROUND_MS && answeredMs >= fromMs,
    );
    if (isAround) longestWaitMs = Math.max(longestWaitMs, waitMs);
    else longestOtherWaitMs = Math.max(longestOtherWaitMs, waitMs);
  }
  return { longestWaitMs, longestOtherWaitMs };
}

/** Only a signal may make the gateway read a file once more. */
function judgeCounted(
  { taken, refused }: Pick<ReloadRun, 'taken' | 'refused'>,
  told: Readonly<Record<Result, number>>,
  replacements: readonly Replacement[],
): string[] {
  const wanted = replacements.length;
  const most = wanted + replacements.filter(({ way }) => way === 'signalled').length;
  const isCounted = taken === told.loaded && refused === told.refused;
  const isRight = [taken, refused].every((count) => count >= wanted && count <= most);
  return isCounted && isRight
    ? []
    : [`${wanted} reloads of either result are counted: ${taken} taken, ${refused} refused`];
}
