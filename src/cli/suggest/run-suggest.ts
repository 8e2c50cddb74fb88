/** Runs `headgate suggest`: reads the logs, computes suggestions, prints them. */
import { validateFiles } from '../../gateway/config/policy-file/read.ts';
import { readText } from '../../gateway/config/text-file.ts';
import type { PolicySet } from '../../gateway/core/matching/policy-set.ts';
import { printableJson } from '../../gateway/core/printable.ts';
import { commandEnvironment } from '../environment/commands.ts';
import { counted } from '../evidence/figures.ts';
import type { LogFlags } from '../evidence/log-options.ts';
import { createLogRequests, type MappedField } from '../evidence/log-request.ts';
import { largePolicySetOf, readPolicyFile } from '../evidence/policies.ts';
import { LogError } from '../evidence/reading/log-error.ts';
import { adviceOn } from '../evidence/suggest/advice.ts';
import { suggestionsJson } from '../evidence/suggest/json.ts';
import { findPathRoutes } from '../evidence/suggest/path-routes.ts';
import { draftPolicyFile, writePolicyFile } from '../evidence/suggest/policy-file.ts';
import { findPolicyRoutes } from '../evidence/suggest/routes.ts';
import { type Suggestions, suggest } from '../evidence/suggest/suggest.ts';
import { TrafficLog } from '../evidence/suggest/traffic-log.ts';
import type { WindowLimit } from '../evidence/suggest/windows.ts';
import { linesIn, say, sayFile } from '../output/output.ts';
import { readingNotes, readLog } from './read-log.ts';
import { suggestText } from './suggest-text.ts';

export interface SuggestFlags extends LogFlags {
  readonly policies?: string;
  /** In milliseconds; whole days. */
  readonly holdout?: number;
  readonly capacity?: WindowLimit;
  readonly output: 'text' | 'yaml' | 'json';
}

/** Resolves to what is wrong with the options; undefined if all went well. */
export async function runSuggest(
  logs: readonly string[],
  flags: SuggestFlags,
): Promise<string | undefined> {
  const { policies: file, holdout = 0, capacity, map } = flags;
  const policies = policySetOf(file, map);
  const traffic = new TrafficLog({
    policies,
    requestOf: createLogRequests(policies, map),
    routes: file === undefined ? findPathRoutes() : findPolicyRoutes(policies),
  });
  const read = await readLog(logs, flags, (entry) => traffic.add(entry));
  if (traffic.requests === 0)
    throw new LogError(['no request can be counted', ...notesOn(traffic)]);
  const { precisionMs } = read.log.format;
  const suggestions = suggest(traffic.recorded(), { holdoutMs: holdout, capacity, precisionMs });
  if (suggestions.fitted.requests === 0) return '--holdout leaves no day to fit limits to';
  const notes = [
    ...readingNotes(read, flags),
    ...notesOn(traffic),
    ...(traffic.hasKeys ? [] : [NO_KEYS]),
    ...unmatchedNotes(suggestions, traffic),
    ...stampNotes(precisionMs),
    ...adviceOn(suggestions),
  ];
  print(suggestions, notes, flags);
  return undefined;
}

/** Throws a ConfigError if the file cannot be read or has mistakes. */
function policySetOf(file: string | undefined, map: readonly MappedField[]): PolicySet {
  const environment = commandEnvironment(process.env);
  if (file !== undefined) {
    return largePolicySetOf(readPolicyFile(file, environment.cloudflareRanges), ONE_THREAD);
  }
  const draft = draftPolicyFile([], sourcesFor(map));
  const read = (path: string) => (path === DRAFT ? draft : readText(path));
  const valid = validateFiles({ ...environment, policies: DRAFT }, read);
  return largePolicySetOf(valid, ONE_THREAD);
}

const ONE_THREAD = 1;
/** Stands for the path of a file that is not on disk. */
const DRAFT = 'draft';

/** A user identifies a client only if the policy file says so. */
function sourcesFor(map: readonly MappedField[]): readonly string[] | undefined {
  const hasUsers = map.some(({ target }) => target === 'user');
  return hasUsers ? ['user', 'api_key', 'cf_connecting_ip', 'ip'] : undefined;
}

function print(suggestions: Suggestions, notes: readonly string[], flags: SuggestFlags): void {
  const { output, policies: file, capacity, map } = flags;
  if (output === 'text') say(suggestText(suggestions, notes));
  else if (output === 'json') {
    const json = { notes, ...suggestionsJson(suggestions) };
    say(linesIn(printableJson(JSON.stringify(json, null, 2))));
  } else {
    const text =
      file === undefined ? draftPolicyFile(suggestions.routes, sourcesFor(map)) : readText(file);
    sayFile(writePolicyFile(text, suggestions, { capacity, notes }));
  }
}

function notesOn({ leftOut, deniedBefore }: TrafficLog): string[] {
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

function unmatchedNotes({ unmatched }: Suggestions, { hasHosts }: TrafficLog): string[] {
  if (unmatched.length === 0) return [];
  const hosts = hasHosts ? '' : '; the log has no hosts, so no policy with a host matches';
  return [`No request matches these policies: ${unmatched.join(', ')}${hosts}.`];
}

function stampNotes(precisionMs: number): string[] {
  if (precisionMs < 1_000) return [];
  return [
    'The stamps are whole seconds. Peaks of one second are not known, so no such limit is proposed; other peaks may be too low or too high by the requests of one second.',
  ];
}
