import { StoreError } from '../core/counting/store.ts';

/** An error code, or the start of the message: enough to know the fault, too short for the argument of a command. */
export function causeText(cause: unknown): string {
  if (cause instanceof StoreError) return cause.message;
  if (!(cause instanceof Error)) return 'unknown';
  // What ioredis says of a command without a connection.
  if (/^Stream isn't writeable/.test(cause.message)) return 'not connected';
  const code = (cause as NodeJS.ErrnoException).code;
  return code ?? cause.message.slice(0, 80);
}
