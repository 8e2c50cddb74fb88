/** Round numbers: 1, 1.5, 2, 3 and 5 times a power of ten, as far as they are whole. */

const STEPS = [1, 1.5, 2, 3, 5];

/** The least round number that is at least `value`. */
export function roundUp(value: number): number {
  for (let power = 1; ; power *= 10) {
    const found = STEPS.find((step) => Number.isInteger(step * power) && step * power >= value);
    if (found !== undefined) return found * power;
  }
}

/** The greatest round number that is at most `value`, and at least 1. */
export function roundDown(value: number): number {
  let greatest = 1;
  for (let power = 1; power <= value; power *= 10) {
    for (const step of STEPS) {
      if (Number.isInteger(step * power) && step * power <= value) greatest = step * power;
    }
  }
  return greatest;
}
