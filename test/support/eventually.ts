/** It bounds only a test that fails: a busy machine may be slow. */
const WITHIN_MS = 60_000;

/** Asks until the answer is as wanted; a condition of the world outside has no event to wait for. */
export async function eventually<T>(
  ask: () => Promise<T>,
  wanted: (answer: T) => boolean,
  withinMs = WITHIN_MS,
  what = 'the answer that was waited for',
): Promise<T> {
  for (const endMs = Date.now() + withinMs; Date.now() < endMs; ) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`still not so after ${withinMs} ms: ${what}`);
}

export async function waitUntil(what: string, ask: () => Promise<boolean>): Promise<void> {
  await eventually(ask, (isSo) => isSo, WITHIN_MS, what);
}
