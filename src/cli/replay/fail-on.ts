/** `--fail-on NAME=MOST`: conditions under which a replay ends with an exit code for CI. */
import { InvalidArgumentError } from 'commander';
import type { ReplayReport } from '../evidence/replay/report.ts';

export interface FailOn {
  readonly name: string;
  readonly most: number;
}

const NUMBERS: Readonly<Record<string, (report: ReplayReport) => number | undefined>> = {
  // A file on trial, as `suggest` writes it, denies nobody, so it would pass every condition.
  'denied-requests': ({ requests }) => requests.denied_with_shadow,
  'denied-clients': ({ requests }) => requests.denied_clients_with_shadow,
  'newly-denied-requests': ({ difference }) => difference?.newly_denied_requests,
  'newly-denied-clients': ({ difference }) => difference?.newly_denied_clients,
  'newly-allowed-requests': ({ difference }) => difference?.newly_allowed_requests,
  'newly-allowed-clients': ({ difference }) => difference?.newly_allowed_clients,
  'not-understood': ({ lines }) => lines.not_understood,
  late: ({ lines }) => lines.late,
};

export const FAIL_ON_NAMES = Object.keys(NUMBERS);

export function addFailOn(text: string, before: readonly FailOn[]): readonly FailOn[] {
  const [, name = '', most = ''] = /^([a-z-]+)=(\d{1,15})$/.exec(text) ?? [];
  if (!Object.hasOwn(NUMBERS, name)) {
    throw new InvalidArgumentError(
      `It must be NAME=NUMBER, as in newly-denied-clients=0; names are ${FAIL_ON_NAMES.join(', ')}.`,
    );
  }
  return [...before, { name, most: Number(most) }];
}

export function needsDifference({ name }: FailOn): boolean {
  return name.startsWith('newly-');
}

export function failuresOf(report: ReplayReport, conditions: readonly FailOn[]): string[] {
  return conditions.flatMap(({ name, most }) => {
    const number = NUMBERS[name]?.(report) ?? 0;
    return number > most ? [`--fail-on ${name}=${most}: it is ${number}`] : [];
  });
}
