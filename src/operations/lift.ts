/** The end of an override before its time. */
import type { Gateway } from './gateway.ts';
import { OperationError } from './operation-error.ts';

/** Rejects with an OperationError when there is no override about it. */
export async function lift({ overrides }: Gateway, about: string, what: string): Promise<void> {
  if (await overrides.remove(about)) return;
  throw new OperationError('not_found', `no override is about the ${what}`);
}
