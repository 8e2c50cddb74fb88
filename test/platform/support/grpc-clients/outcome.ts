/** What the answer to a check says. */
import { readWrittenResponse } from '../../../support/grpc-client.ts';
import { outcome } from '../../../support/grpc-outcomes.ts';
import type { Ended } from './tested-client.ts';

/** The status that the client of the proxy gets, or the status of gRPC and its message. */
export function outcomeOf({ code, details, messages: [bytes] }: Ended): number | string {
  if (bytes === undefined) return `${code}: ${details}`;
  return outcome({ code, details, message: readWrittenResponse(bytes.toString('latin1')) });
}
