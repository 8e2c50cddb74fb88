/** Asks until the answer is as wanted; a condition of the world outside has no event to wait for. */
export async function eventually<T>(
  ask: () => Promise<T>,
  wanted: (answer: T) => boolean,
  withinMs = 5_000,
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
  await eventually(ask, (isSo) => isSo, 10_000, what);
}
