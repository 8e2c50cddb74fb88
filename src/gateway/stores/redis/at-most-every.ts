/**
 * Limits how often a function runs: at once for the first call, then at most once in `ms` milliseconds. It always runs
 * once after the last call.
 */
export function atMostEvery(ms: number, act: () => void): () => void {
  let isCalled = false;
  let timer: NodeJS.Timeout | undefined;
  const run = () => {
    isCalled = false;
    timer = setTimeout(() => {
      timer = undefined;
      if (isCalled) run();
    }, ms).unref();
    act();
  };
  return () => {
    if (timer === undefined) run();
    else isCalled = true;
  };
}
