/** Chooses the format of the logs that are read together by their first lines, and says in words how. */
import { canonicalAddress, compileAddressSet } from '../../../gateway/core/identity/address.ts';
import { count as inThousands } from '../figures.ts';
import { FORMATS, formatNamed } from '../formats/index.ts';
import { type LogFormat, Misread, type ParseOptions } from '../formats/log-format.ts';
import { LogError } from './log-error.ts';
import { Unwrapper } from './unwrapper.ts';

export interface Beginning {
  readonly name: string;
  readonly lines: readonly string[];
}

export interface Choice {
  readonly format: LogFormat;
  readonly detected: string;
}

const AUTO = 'auto';

/** Throws a LogError for logs without a line of the format, or a ConfigError if there is no such format. */
export function chooseFormat(wanted: string, beginnings: readonly Beginning[]): Choice {
  const logs = beginnings.filter(({ lines }) => lines.length > 0);
  const [first] = logs;
  if (first === undefined) {
    const names = beginnings.map(({ name }) => name);
    throw new LogError(names.map((name) => `${name}: is empty; there is nothing to read`));
  }
  const trial = wanted === AUTO ? detect(first) : tried(formatNamed(wanted), first.lines);
  const problems = logs.flatMap((log) => problemOf(log, trial.format, wanted) ?? []);
  if (problems.length > 0) throw new LogError(problems);
  const format = trial.format.adaptedTo?.(first.lines) ?? trial.format;
  return {
    format,
    detected: wanted === AUTO ? wordsOf(trial, first) : `${format.title}, as given by --format`,
  };
}

function detect({ name, lines }: Beginning): Trial {
  const trials = FORMATS.map((format) => tried(format, lines));
  const best = bestOf(trials);
  if (best !== undefined) return best;
  if (lines.some((line) => line.includes('\0')))
    throw new LogError([`${name}: is binary, not a log`]);
  throw new LogError([
    `${name}: is of no format that headgate knows; of ${linesOf(lines.length)}, none was understood: ${nearest(trials).join(', ')}; name the format with --format, or give the log_format string of NGINX there`,
  ]);
}

function problemOf(
  { name, lines }: Beginning,
  format: LogFormat,
  wanted: string,
): string | undefined {
  const { understood, misread } = tried(format, lines);
  if (understood > 0) return undefined;
  const other = bestOf(FORMATS.map((each) => tried(each, lines)))?.format.name;
  const title = wanted.includes('$') ? 'the given log_format' : format.name;
  const advice =
    wanted === AUTO
      ? ', and logs that are read together must have one format'
      : `: --format ${other}`;
  const meant = other === undefined ? '' : `; it looks like ${other}${advice}`;
  return `${name}: is not of the format ${title}; of ${linesOf(lines.length)}, none was understood: line ${misread?.line} fails at ${misread?.field}${meant}`;
}

function linesOf(count: number): string {
  if (count === 1) return 'its only line';
  return count === TRIED_LINES ? `its first ${inThousands(count)} lines` : `its ${count} lines`;
}

function wordsOf({ format, lines, understood, proofs }: Trial, { name }: Beginning): string {
  const share = lines === 1 ? 'the only line' : `${understood} of the first ${lines} lines`;
  const basis = `${format.title} (${format.name}): understands ${share} of ${name}`;
  const twin = FORMATS.find(({ name }) => name === format.twin);
  if (twin === undefined) return basis;
  const same = `${basis}; ${programOf(twin)}'s combined format looks the same`;
  if (proofs > 0) {
    const which = proofs === 1 ? 'one' : proofs;
    return `${same}, but only ${programOf(format)} writes ${which} of these lines`;
  }
  return `${same}. The time of a line is taken for the ${format.timeIs} of its request; if that is wrong, add --format ${twin.name} or --time-is ${twin.timeIs}`;
}

function programOf({ title }: LogFormat): string {
  return /^\w+/.exec(title)?.[0] ?? title;
}

const TRIED_LINES = 1_000;

type Trial = ReturnType<typeof tried>;

const WITHOUT_OPTIONS: ParseOptions = { zone: 'UTC', timeIs: undefined, fields: [] };

export function firstLines(bytes: Buffer): string[] {
  const unwrapper = new Unwrapper();
  const lines: string[] = [];
  for (const written of bytes.toString('latin1').split('\n')) {
    if (lines.length === TRIED_LINES) break;
    const line = unwrapper.unwrap(written.replace(/\r$/, ''));
    if (line !== undefined && line.trim() !== '') lines.push(line);
  }
  return lines;
}

function tried(format: LogFormat, lines: readonly string[]) {
  const parse = format.compile(WITHOUT_OPTIONS);
  let [entries, understood, proofs, known] = [0, 0, 0, 0];
  const clients = new Set<string>();
  let misread: { line: number; field: string; reach: number } | undefined;
  for (const [i, line] of lines.entries()) {
    const made = parse(line);
    if (made instanceof Misread) {
      misread ??= { line: i + 1, field: made.field, reach: made.reach };
      continue;
    }
    understood++;
    if (format.isProof?.(line)) proofs++;
    if (made === undefined) continue;
    entries++;
    const client = canonicalAddress(made.address ?? made.forwardedFor ?? '');
    if (client === undefined) continue;
    known++;
    clients.add(client);
  }
  return { format, lines: lines.length, entries, understood, proofs, misread, known, clients };
}

/** A format with fewer lines than that part of the best one's is not compared with it. */
const NEARLY_ALL = 0.9;
const isPrivate = compileAddressSet(['private', 'loopback']);

/**
 * The format that reads most requests; undefined if none reads a request or all lines. Two columns of addresses fit
 * several formats. The one that finds more clients is right: a load balancer has few addresses, and private ones.
 */
function bestOf(trials: readonly Trial[]): Trial | undefined {
  const fitting = trials.filter((trial) => trial.entries > 0 || trial.understood === trial.lines);
  const enough = NEARLY_ALL * Math.max(...fitting.map(({ known }) => known));
  return fitting
    .filter(({ known }) => known >= enough)
    .map((trial) => ({ trial, evidence: evidenceOf(trial) }))
    .sort((a, b) => compare(b.evidence, a.evidence))
    .at(0)?.trial;
}

function evidenceOf({ format, clients, known, entries, understood, proofs }: Trial): number[] {
  const outside = [...clients].filter((client) => !isPrivate(client)).length;
  const isForwarded = Number(format.isForwardedFirst ?? false);
  return [clients.size, outside, known, entries, understood, isForwarded, proofs];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const place = a.findIndex((value, i) => value !== b[i]);
  return place < 0 ? 0 : (a[place] ?? 0) - (b[place] ?? 0);
}

function nearest(trials: readonly Trial[]): string[] {
  return trials
    .toSorted((a, b) => (b.misread?.reach ?? 0) - (a.misread?.reach ?? 0))
    .slice(0, 3)
    .map(({ format, misread }) => `${format.name} fails at ${misread?.field}`);
}
