/** Suggestions from logs: reads them, computes the limits, and says what a reader of the figures must know. */
import { validateFiles } from '../../../gateway/config/policy-file/read.ts';
import { readText } from '../../../gateway/config/text-file.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { interruptible } from '../../output/interrupt.ts';
import { count, counted } from '../figures.ts';
import { identityWarnings } from '../identity-warnings.ts';
import { type LogFlags, openLogs, parsingOf } from '../log-options.ts';
import { createLogRequests, type MappedField } from '../log-request.ts';
import { policySetOf, readPolicyFile } from '../policies.ts';
import { EntryStream } from '../reading/entry-stream.ts';
import { LogError } from '../reading/log-error.ts';
import { INTERRUPTED, readChunks } from '../reading/read-chunks.ts';
import { adviceOn } from './advice.ts';
import { suggestionsJson } from './json.ts';
import { findPathRoutes } from './path-routes.ts';
import { draftPolicyFile, writePolicyFile } from './policy-file.ts';
import { findPolicyRoutes, type RouteFinder } from './routes.ts';
import { type Suggestions, suggest } from './suggest.ts';
import { suggestText } from './suggest-text.ts';
import { TrafficLog } from './traffic-log.ts';
import type { WindowLimit } from './windows.ts';

export interface SuggestFlags extends LogFlags {
  readonly policies?: string;
  readonly holdout?: number;
  readonly capacity?: WindowLimit;
}

type PolicySettings = Parameters<typeof validateFiles>[0];

/** Throws a LogError or a ConfigError. Undefined if --holdout leaves no day to fit limits to. */
export async function suggestFromLogs(
  paths: readonly string[],
  flags: SuggestFlags,
  settings: PolicySettings,
) {
  const { policies: file, holdout = 0, capacity, map } = flags;
  const policies = policiesOf(file, map, settings);
  const routes = file === undefined ? findPathRoutes() : findPolicyRoutes(policies);
  const requestOf = createLogRequests(policies, map);
  const traffic = new TrafficLog({ policies, requestOf, routes });
  const read = await readLogs(paths, flags, traffic);
  const leftOut = leftOutNotes(traffic);
  if (traffic.requests === 0) throw new LogError(['no request can be counted', ...leftOut]);
  const { precisionMs } = read.log.format;
  const suggestions = suggest(traffic.recorded(), { holdoutMs: holdout, capacity, precisionMs });
  if (suggestions.fitted.requests === 0) return undefined;
  const notes = [
    ...readingNotes(read, flags),
    ...identityWarnings(read.log, { parsing: parsingOf(flags), policies, mapping: map }),
    ...leftOut,
    ...(traffic.hasKeys ? [] : [NO_KEYS]),
    ...unmatchedNotes(suggestions, traffic),
    ...droppedNotes(routes),
    ...(precisionMs < 1_000 ? [] : [WHOLE_SECONDS]),
    ...adviceOn(suggestions),
  ];
  return {
    text: () => suggestText(suggestions, notes),
    json: () => ({ notes, ...suggestionsJson(suggestions) }),
    yaml: () => {
      const draft =
        file === undefined ? draftPolicyFile(suggestions.routes, sourcesFor(map)) : readText(file);
      return writePolicyFile(draft, suggestions, { capacity, notes });
    },
  };
}

function policiesOf(
  file: string | undefined,
  map: readonly MappedField[],
  settings: PolicySettings,
): PolicySet {
  if (file !== undefined) {
    return policySetOf(readPolicyFile(file, settings.cloudflareRanges), true);
  }
  const draft = draftPolicyFile([], sourcesFor(map));
  const read = (path: string) => (path === DRAFT ? draft : readText(path));
  return policySetOf(validateFiles({ ...settings, policies: DRAFT }, read), true);
}

const DRAFT = 'draft';

/** A user identifies a client only if the policy file says so. */
function sourcesFor(map: readonly MappedField[]): readonly string[] | undefined {
  const hasUsers = map.some(({ target }) => target === 'user');
  return hasUsers ? ['user', 'api_key', 'cf_connecting_ip', 'ip'] : undefined;
}

type ReadLogs = Awaited<ReturnType<typeof readLogs>>;

async function readLogs(paths: readonly string[], flags: LogFlags, traffic: TrafficLog) {
  const log = await openLogs(paths, flags);
  const parse = log.format.compile(parsingOf(flags));
  const stream = new EntryStream(parse, {
    ...{ sources: log.sources.length, horizonMs: flags.horizon },
    keep: (entry) => entry,
  });
  const visit = traffic.add.bind(traffic);
  using interrupt = interruptible();
  for await (const chunk of readChunks(log, interrupt.signal, () => stream.counts.read)) {
    stream.add(chunk, visit);
    // Lets Ctrl+C and the progress come through.
    await new Promise((resolve) => setImmediate(resolve));
  }
  stream.finish(visit);
  if (stream.counts.understood === 0) {
    throw new LogError(log.sources.map((name) => `${name}: has no request that is understood`));
  }
  interrupt.end();
  return { log, counts: stream.counts, isInterrupted: interrupt.signal.aborted };
}

function readingNotes({ log, counts, isInterrupted }: ReadLogs, { timeIs }: LogFlags): string[] {
  const { read, misread, late, firstMisread } = counts;
  const notes = [`${log.detected}.`, ...log.truncated.map((text) => `${text}.`)];
  if (isInterrupted) notes.push(INTERRUPTED);
  if ((timeIs ?? log.format.timeIs) === 'end') {
    notes.push('Requests are counted at their end, because the log does not have their start.');
  }
  for (const { line, source, field } of firstMisread.slice(0, 1)) {
    notes.push(
      `${count(misread)} of ${counted(read, 'line')} are not understood: the first is line ${line} of ${log.sources[source]}, which fails at ${field}.`,
    );
  }
  if (late > 0) {
    notes.push(
      `${counted(late, 'request')} came too late in the log to be put in order (--horizon), and are left out.`,
    );
  }
  return notes;
}

function leftOutNotes({ leftOut, deniedBefore }: TrafficLog): string[] {
  const { unknownClient, exempt, malformed } = leftOut;
  const notes: [count: number, text: string][] = [
    [unknownClient, 'left out, because the log does not say which client sent them'],
    [exempt, 'left out, because the policy file exempts their clients'],
    [malformed, 'left out, because their paths are malformed'],
    [
      deniedBefore,
      'counted although they were answered with 429: clients may have sent fewer because of that',
    ],
  ];
  return notes
    .filter(([count]) => count > 0)
    .map(([count, text]) => `${counted(count, 'request')} ${text}.`);
}

const NO_KEYS =
  'Clients are told apart by their addresses. If the log has API keys or users, name their fields: --map api_key=FIELD, --map user=FIELD.';
const WHOLE_SECONDS =
  'The stamps are whole seconds. Peaks of one second are not known, so no such limit is proposed; other peaks may be too low or too high by the requests of one second.';

function droppedNotes({ dropped }: RouteFinder): string[] {
  if (dropped === 0) return [];
  return [
    `${counted(dropped, 'request')} for rarely used paths count for everything else, because the log has too many different paths.`,
  ];
}

function unmatchedNotes({ unmatched }: Suggestions, { hasHosts }: TrafficLog): string[] {
  if (unmatched.length === 0) return [];
  const hosts = hasHosts ? '' : '; the log has no hosts, so no policy with a host matches';
  return [`No request matches these policies: ${unmatched.join(', ')}${hosts}.`];
}
