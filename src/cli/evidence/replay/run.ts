/** A replay from the opened log to its report. */
import { availableParallelism } from 'node:os';
import { allLimits } from '../../../gateway/config/policy-file/valid-file.ts';
import { counted, percent } from '../figures.ts';
import { identityWarnings } from '../identity-warnings.ts';
import { hostPoliciesOf, policySetOf } from '../policies.ts';
import type { LineCounts } from '../reading/entry-stream.ts';
import type { OpenLog } from '../reading/open-log.ts';
import { INTERRUPTED, readChunks } from '../reading/read-chunks.ts';
import { chartsOf } from './charts.ts';
import { reportOn } from './report.ts';
import type { ThreadOptions } from './thread.ts';
import { type ChunkEvents, ReplayThreads } from './threads.ts';

type GivenOptions = 'parsing' | 'policies' | 'against' | 'mapping' | 'horizonMs' | 'measuresPeaks';

export interface ReplayRun extends Omit<ChunkEvents, 'onLines'>, Pick<ThreadOptions, GivenOptions> {
  readonly log: OpenLog;
  /** Undefined: as many as pay. Clients that cannot be divided have one. */
  readonly threads: number | undefined;
  readonly showsAddresses: boolean;
  readonly signal: AbortSignal;
}

/** More threads gain little, because each of them parses all lines. */
const MAX_THREADS = 8;
/** A thread takes as long to start, and to compile the code, as such logs take to decide. */
const SMALL_BYTES = 128 * 1024 * 1024;

export async function runReplay(run: ReplayRun) {
  const { log, parsing, horizonMs, policies, against, mapping, measuresPeaks } = run;
  const { name: format, precisionMs } = log.format;
  const policySet = policySetOf(policies);
  const indivisible = whyIndivisible(run);
  const threads = indivisible === undefined ? (run.threads ?? threadsFor(log)) : 1;
  const options = {
    ...{ format, parsing, precisionMs, sources: log.sources.length, horizonMs, threads },
    ...{ policies, against, mapping, measuresPeaks, keepsMisread: run.onMisread !== undefined },
  };
  let linesRead = 0;
  const onLines = (read: number) => {
    linesRead = read;
  };
  await using replay = new ReplayThreads(options, { onLines, onMisread: run.onMisread });
  for await (const chunk of readChunks(log, run.signal, () => linesRead)) await replay.add(chunk);
  const { result, lines } = await replay.finish();
  const report = reportOn(result, {
    policies: policySet,
    hostPolicies: hostPoliciesOf(policies),
    ...{ mapping, lines },
    log: { sources: log.sources, format: log.detected },
    hasDifference: against !== undefined,
    showsAddresses: run.showsAddresses,
    notes: [
      ...identityWarnings(log, { parsing, policies: policySet, mapping }),
      ...lateNotes(lines),
      ...readingNotes(run, indivisible),
    ],
  });
  return { report, charts: chartsOf(result, policySet) };
}

function threadsFor({ progress: { bytesTotal = Number.POSITIVE_INFINITY } }: OpenLog): number {
  // One core reads the log for the others. On two cores, a second thread would take longer than it saves.
  return bytesTotal < SMALL_BYTES
    ? 1
    : Math.max(1, Math.min(MAX_THREADS, availableParallelism() - 1));
}

/** Why the clients cannot be divided among threads: no limit may count two of them together. Undefined if they can. */
function whyIndivisible({ policies, against, mapping }: ReplayRun): string | undefined {
  // A key or user may come from many addresses, and clients are divided by address.
  if (mapping.length > 0) return '--map tells clients apart by more than their address';
  const files = against === undefined ? [policies.file] : [policies.file, against.file];
  const limits = files
    .flatMap(({ fallback, entries }) => [fallback, ...entries])
    .flatMap(allLimits);
  if (limits.some(({ per }) => per === 'global')) return 'a limit counts all clients together';
  return new Set(files.map(({ identity }) => JSON.stringify(identity))).size === 1
    ? undefined
    : 'the two files tell clients apart in different ways (identity)';
}

function lateNotes({ late, understood }: LineCounts): string[] {
  if (late === 0) return [];
  return [
    `${counted(late, 'request')} (${percent(late, understood)}) came too late in the log to be put in order, and are left out: raise --horizon.`,
  ];
}

function readingNotes(run: ReplayRun, indivisible: string | undefined): string[] {
  const { log, signal, parsing, threads } = run;
  const { timeIs, lacksZone } = log.format;
  const notes = signal.aborted ? [INTERRUPTED, ...log.truncated] : [...log.truncated];
  if ((parsing.timeIs ?? timeIs) === 'end') {
    notes.push(
      'The log has the end of each request, and not how long it took: requests are decided a little late.',
    );
  }
  if (lacksZone) {
    notes.push(`The log has no time zone: its times are taken for ${parsing.zone} (--tz).`);
  }
  if (indivisible !== undefined && threads !== 1) {
    notes.push(`Decided in one thread: ${indivisible}.`);
  }
  return notes;
}
