/** The health service of gRPC: Check, List and Watch (github.com/grpc/grpc/blob/master/doc/health-checking.md). */
import { type Fields, readMessage, text } from '../../protobuf/reader.ts';
import { messageField, numberField, textField } from '../../protobuf/writer.ts';
import type { GrpcCall } from './grpc-call.ts';
import { STOPPING, UNKNOWN_SERVICE } from './status.ts';

/** `HealthCheckResponse.ServingStatus`. */
const SERVING = 1;
const NOT_SERVING = 2;
const SERVICE_UNKNOWN = 3;

const REQUEST: Fields<{ service: string }> = { 1: text('service') };

/** Any other service is unknown. The empty name is the server. */
export function createHealth(services: readonly string[]) {
  let status = SERVING;
  const watches = new Set<GrpcCall>();
  const isKnown = (message: Buffer) =>
    services.includes(readMessage(message, REQUEST, { service: '' }).service);
  return {
    /** Throws MalformedMessage, as `watch` does. */
    check(call: GrpcCall, message: Buffer): void {
      if (isKnown(message)) call.answer(statusMessage(status));
      else call.fail(UNKNOWN_SERVICE);
    },
    list: (call: GrpcCall): void => call.answer(listMessage(services, status)),
    /** Nothing is kept of a watch of an unknown service, because callers can send any name. */
    watch(call: GrpcCall, message: Buffer): void {
      if (!isKnown(message)) {
        call.write(statusMessage(SERVICE_UNKNOWN));
        return;
      }
      call.write(statusMessage(status));
      watches.add(call);
      call.whenClosed(() => watches.delete(call));
    },
    stopServing(): void {
      status = NOT_SERVING;
      for (const call of watches) call.write(statusMessage(NOT_SERVING));
    },
    close(): void {
      for (const call of watches) call.end(STOPPING);
    },
  };
}

function statusMessage(status: number): string {
  return numberField(1, status);
}

function listMessage(services: readonly string[], status: number): string {
  const response = messageField(2, statusMessage(status));
  return services.map((service) => messageField(1, textField(1, service) + response)).join('');
}
