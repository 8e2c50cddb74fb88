/** Asks until the answer is as wanted; a condition of the world outside has no event to wait for. */
export async function eventually<T>(
  ask: () => Promise<T>,
  wanted: (answer: T) => boolean,
  withinMs = 5_000,
): Promise<T> {
  for (const endMs = Date.now() + withinMs; Date.now() < endMs; ) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('it never came to that');
}
