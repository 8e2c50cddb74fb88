/** Makes something at the end of a turn of the event loop, once for all who asked for it in that turn. */
import { setImmediate as endOfTurn } from 'node:timers/promises';

export function oncePerTurn<T>(make: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | undefined;
  const atEndOfTurn = async () => {
    await endOfTurn();
    next = undefined;
    return make();
  };
  return () => {
    next ??= atEndOfTurn();
    return next;
  };
}
