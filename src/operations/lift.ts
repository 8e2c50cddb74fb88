/** The end of an order before its time. */
import type { Gateway } from './gateway.ts';
import { OperationError } from './operation-error.ts';

/** Rejects with an OperationError when there is no order about it. */
export async function lift({ overrides }: Gateway, about: string, what: string): Promise<void> {
  if (await overrides.remove(about)) return;
  throw new OperationError('not_found', `no operator's order is about the ${what}`);
}
