/** What a flood of invented identities may leave behind. */
import type { Capacity, Flood } from './floods.ts';
import type { Held } from './run.ts';

/** Expectations that were not met. */
export function mostHeld(
  { mostAdmitted }: Flood,
  { admitted, keys, denials }: Held,
  { maxKeys, maxDenials }: Capacity,
): string[] {
  const wrong: string[] = [];
  if (keys > maxKeys) wrong.push(`at most ${maxKeys} keys are held`);
  if (denials > maxDenials) wrong.push(`at most ${maxDenials} denials are cached`);
  // A full store forgets some counts, and those clients start anew.
  if (keys < maxKeys && admitted > mostAdmitted) wrong.push(`at most ${mostAdmitted} are admitted`);
  return wrong;
}
