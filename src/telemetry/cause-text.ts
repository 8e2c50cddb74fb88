/** What a log line says of an error that is not ours. */
import { StoreError } from '../core/store.ts';

/** The first words of a message: enough to know the fault, and no room for an argument of a command. */
export function causeText(cause: unknown): string {
  if (cause instanceof StoreError) return cause.message;
  if (!(cause instanceof Error)) return 'unknown';
  const code = (cause as NodeJS.ErrnoException).code;
  return code ?? cause.message.slice(0, 80);
}
