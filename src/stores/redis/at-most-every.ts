/**
 * Does at once what somebody calls for, and then once in so many milliseconds, however often it is called for. It is
 * always done once more after the last call.
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
