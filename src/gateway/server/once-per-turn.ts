/** Shares one result between all callers of one turn of the event loop. It is made at the end of the turn. */
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
