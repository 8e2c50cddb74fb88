/** The columns of tables of outcomes. Each figure is a median, with the minimum and maximum of all turns. */
import { median, printTable, type Row, spread } from '../../tools/table.ts';
import { LATE_MS } from './load.ts';
import type { Measured, Outcome } from './rounds.ts';

/** Some cells of the row of an outcome. */
export type Columns = (outcome: Outcome) => Row;
type Figure = keyof Measured;

/** Prints one row for each contestant that took part. */
export function printOutcomes(outcomes: readonly Outcome[], ...columns: readonly Columns[]): void {
  printTable(
    outcomes
      .filter(({ rounds }) => rounds.length > 0)
      .map((outcome) =>
        Object.assign({ server: outcome.name }, ...columns.map((column) => column(outcome))),
      ),
  );
}

function figuresOf({ rounds }: Outcome, figure: Figure): number[] {
  return rounds.map((round) => round[figure] ?? Number.NaN);
}

/** Empty if it was not measured. */
function cell(outcome: Outcome, figure: Figure, digits = 1): string {
  const figures = figuresOf(outcome, figure).filter((value) => !Number.isNaN(value));
  return figures.length === 0 ? '' : spread(figures, digits);
}

export const cost: Columns = (outcome) => ({
  'CPU us/request': cell(outcome, 'serverMicrosPerRequest'),
  'Redis CPU us/request': outcome.usesRedis ? cell(outcome, 'redisMicrosPerRequest') : '',
  'all CPU us/request': cell(outcome, 'totalMicrosPerRequest'),
  'each process': outcome.processes
    .map((rounds) => median(rounds.map((round) => round.totalMicrosPerRequest)).toFixed(1))
    .join(', '),
});

export const calls: Columns = (outcome) => ({
  'script calls/request': outcome.usesRedis ? cell(outcome, 'scriptCallsPerRequest', 3) : '',
});

export const throughput: Columns = (outcome) => ({
  'requests/s': cell(outcome, 'requestsPerSecond', 0),
});

export const latency: Columns = (outcome) => ({
  'p50, ms': cell(outcome, 'p50Ms', 2),
  'p99, ms': cell(outcome, 'p99Ms', 2),
  'max, ms': worst(outcome, 'maxMs'),
});

export const late: Columns = (outcome) => ({
  [`above ${LATE_MS} ms`]: `${total(outcome, 'late')} of ${total(outcome, 'answers')}`,
});

/** Answers of a gateway that did not hear from Redis in time. */
export const unmeasured: Columns = (outcome) => ({
  'not measured': String(total(outcome, 'unmeasured')),
});

export const refused: Columns = (outcome) => ({
  refused: `${total(outcome, 'refused')} of ${total(outcome, 'answers')}`,
});

export const memory: Columns = (outcome) => ({
  'RSS MiB': cell(outcome, 'residentMib', 0),
});

export const idleMemory: Columns = (outcome) => ({
  'idle MiB': cell(outcome, 'idleMib', 0),
});

/** At a low rate, what a gateway does without requests is a part of its cost that says nothing of requests. */
export const costWithoutIdle: Columns = (outcome) => {
  const perRequest = outcome.rounds.map(
    (round) =>
      round.totalMicrosPerRequest - (round.idleMicrosPerSecond * round.seconds) / round.requests,
  );
  return { 'all CPU us/request, less idle': spread(perRequest) };
};

export const proxyCost: Columns = (outcome) => ({
  'proxy CPU us/request': cell(outcome, 'proxyMicrosPerRequest'),
});

/** How many times the figure of another outcome, turn by turn: both met the same noise. */
export function times(title: string, of: Outcome | undefined, figure: Figure): Columns {
  const others = of === undefined ? [] : figuresOf(of, figure);
  return (outcome) => {
    const ratios = figuresOf(outcome, figure).map((value, i) => value / (others[i] ?? Number.NaN));
    return { [title]: ratios.some(Number.isNaN) ? '' : spread(ratios, 2) };
  };
}

/** The median of all turns, times that of another outcome: for figures that a single turn decides badly, as tails. */
export function timesMedian(title: string, of: Outcome | undefined, figure: Figure): Columns {
  const other = of === undefined ? Number.NaN : median(figuresOf(of, figure));
  return (outcome) => {
    const ratio = median(figuresOf(outcome, figure)) / other;
    return { [title]: Number.isNaN(ratio) ? '' : ratio.toFixed(2) };
  };
}

/** How much more CPU time than another outcome takes, turn by turn. */
export function microsMoreThan(title: string, other: Outcome | undefined): Columns {
  const others = other === undefined ? [] : figuresOf(other, 'serverMicrosPerRequest');
  return (outcome) => {
    const micros = figuresOf(outcome, 'serverMicrosPerRequest');
    const more = micros.map((value, i) => value - (others[i] ?? Number.NaN));
    return { [title]: outcome === other || more.some(Number.isNaN) ? '' : spread(more) };
  };
}

/** A column whose base differs by the row. */
export function byRow(columns: (outcome: Outcome) => Columns): Columns {
  return (outcome) => columns(outcome)(outcome);
}

function worst(outcome: Outcome, figure: Figure): string {
  const most = Math.max(...figuresOf(outcome, figure));
  return Number.isNaN(most) ? '' : most.toFixed(1);
}

function total(outcome: Outcome, figure: Figure): number {
  return figuresOf(outcome, figure).reduce((sum, value) => sum + (value || 0), 0);
}
