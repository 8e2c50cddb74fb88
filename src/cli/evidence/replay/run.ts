/** A replay from the opened log to its report. */
import { availableParallelism } from 'node:os';
import type { ParseOptions } from '../formats/log-format.ts';
import type { MappedField } from '../log-request.ts';
import { hostPoliciesOf, policySetOf, type ReadPolicies } from '../policies.ts';
import type { OpenLog } from '../reading/open-log.ts';
import { INTERRUPTED, untilAborted } from '../reading/until-aborted.ts';
import { chartsOf, type ReplayCharts } from './charts.ts';
import { indivisible } from './division.ts';
import type { ReplayReport } from './replay-report.ts';
import { reportOn } from './report.ts';
import { type ChunkEvents, startThreads } from './threads.ts';

export interface ReplayRun extends ChunkEvents {
  readonly log: OpenLog;
  readonly parsing: ParseOptions;
  readonly policies: ReadPolicies;
  readonly against: ReadPolicies | undefined;
  readonly mapping: readonly MappedField[];
  /** How much earlier than a line before it a request may start, in milliseconds. */
  readonly horizonMs: number;
  /** Undefined: one for each core, if the clients can be divided. */
  readonly threads: number | undefined;
  readonly showsAddresses: boolean;
  readonly keepsMisread: boolean;
  /** Whether the peaks of clients are wanted, for the page. */
  readonly measuresPeaks: boolean;
  /** Ends the reading early; what was read is reported. */
  readonly signal: AbortSignal;
}

/** More threads gain little, because each of them parses all lines. */
const MAX_THREADS = 8;
/** A thread takes as long to start as such logs take to decide. */
const SMALL_BYTES = 16 * 1024 * 1024;

export async function runReplay(run: ReplayRun): Promise<Replayed> {
  const { log, policies, against, mapping } = run;
  const policySet = policySetOf(policies);
  const whole = indivisible([policies, ...(against === undefined ? [] : [against])], mapping);
  const threads = whole === undefined ? (run.threads ?? threadsFor(log)) : 1;
  await using replay = startThreads(sharedOptions(run), threads, run);
  for await (const chunk of untilAborted(log.chunks(), run.signal)) await replay.add(chunk);
  const { result, lines } = await replay.finish();
  const report = reportOn(result, {
    policies: policySet,
    hostPolicies: hostPoliciesOf(policies),
    ...{ mapping, lines },
    log: { sources: log.sources, format: log.detected },
    hasDifference: against !== undefined,
    showsAddresses: run.showsAddresses,
    notes: readingNotes(run, whole),
  });
  return { report, charts: chartsOf(result, policySet) };
}

export interface Replayed {
  readonly report: ReplayReport;
  readonly charts: ReplayCharts;
}

function threadsFor({ progress: { bytesTotal = Number.POSITIVE_INFINITY } }: OpenLog): number {
  return bytesTotal < SMALL_BYTES ? 1 : Math.min(MAX_THREADS, availableParallelism());
}

/** Only what can be sent to threads. */
function sharedOptions(run: ReplayRun) {
  const { log, parsing, horizonMs, policies, against, mapping, measuresPeaks, keepsMisread } = run;
  const { name: format, precisionMs } = log.format;
  return {
    ...{ format, parsing, precisionMs, sources: log.sources.length, horizonMs },
    ...{ policies, against, mapping, measuresPeaks, keepsMisread },
  };
}

function readingNotes({ log, signal, parsing, threads }: ReplayRun, whole: string | undefined) {
  const { timeIs, lacksZone } = log.format;
  return [
    ...(signal.aborted ? [INTERRUPTED] : []),
    ...log.truncated,
    ...((parsing.timeIs ?? timeIs) === 'end'
      ? [
          'The log has the end of each request, and not how long it took: requests are decided a little late.',
        ]
      : []),
    ...(lacksZone
      ? [`The log has no time zone: its times are taken for ${parsing.zone} (--tz).`]
      : []),
    ...(whole !== undefined && threads !== 1 ? [`Decided in one thread: ${whole}.`] : []),
  ];
}
