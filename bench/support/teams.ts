/**
 * Contestants of several processes each. Two processes of the same program differ by a few percent as long as they run,
 * which is more than what is compared here.
 */

import { spread } from '../../tools/table.ts';
import type { Server } from './lab.ts';
import type { Load } from './load.ts';
import { all, interleave, type Outcome, type RoundOptions } from './rounds.ts';

export interface Team {
  readonly name: string;
  readonly start: () => Promise<Server>;
  readonly load: Load;
}

export interface TeamOutcome extends Outcome {
  /** Of each of its processes. */
  readonly processes: readonly Outcome[];
}

const PROCESSES = 2;

/** Like interleave. In each round the first processes of all teams take their turns, then the second ones in reverse order. */
export async function interleaveTeams<const T extends readonly Team[]>(
  teams: T,
  options: RoundOptions,
): Promise<{ [K in keyof T]: TeamOutcome }> {
  const indices = [...teams.keys()];
  const order = Array.from({ length: PROCESSES }, (_, i) =>
    i % 2 === 0 ? indices : indices.toReversed(),
  ).flat();
  const contestants = [];
  for (const index of order) {
    const { name, start, load } = teams[index] as Team;
    contestants.push({ name, server: await start(), load });
  }
  const outcomes = await interleave(contestants, options);
  return teams.map(({ name }, index) => {
    const processes = outcomes.filter((_, i) => order[i] === index);
    const rounds = processes.flatMap((each) => each.rounds);
    return { name, usesRedis: false, rounds, processes };
  }) as { [K in keyof T]: TeamOutcome };
}

/** How much more than the other, round by round. */
export function microsMoreThan(of: Outcome, other: Outcome): string {
  const theirs = all(other, 'serverMicrosPerRequest');
  return spread(
    all(of, 'serverMicrosPerRequest').map(
      (micros, round) => micros - (theirs[round] ?? Number.NaN),
    ),
  );
}
