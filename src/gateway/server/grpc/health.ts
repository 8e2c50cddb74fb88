/** The health service of gRPC: Check, List and Watch (github.com/grpc/grpc/blob/master/doc/health-checking.md). */
import { type Fields, ProtobufReader } from '../../protobuf/reader.ts';
import { messageField, numberField, textField } from '../../protobuf/writer.ts';
import type { GrpcCall } from './grpc-call.ts';
import { STOPPING, UNKNOWN_SERVICE } from './status.ts';

/** `HealthCheckResponse.ServingStatus`. */
const SERVING = 1;
const NOT_SERVING = 2;
const SERVICE_UNKNOWN = 3;

interface HealthCheckRequest {
  service: string;
}
const REQUEST: Fields<HealthCheckRequest> = {
  1: (reader, request) => {
    request.service = reader.utf8();
  },
};

export class Health {
  readonly #services: readonly string[];
  #status = SERVING;
  readonly #watches = new Set<GrpcCall>();

  /** Any other service is unknown. The empty name is the server. */
  constructor(services: readonly string[]) {
    this.#services = services;
  }

  /** Throws MalformedMessage, as `watch` does. */
  check(call: GrpcCall, message: Buffer): void {
    if (this.#isKnown(message)) call.answer(statusMessage(this.#status));
    else call.fail(UNKNOWN_SERVICE);
  }

  list(call: GrpcCall): void {
    call.answer(listMessage(this.#services, this.#status));
  }

  /** Nothing is kept of a watch of an unknown service, because callers can send any name. */
  watch(call: GrpcCall, message: Buffer): void {
    if (!this.#isKnown(message)) {
      call.write(statusMessage(SERVICE_UNKNOWN));
      return;
    }
    call.write(statusMessage(this.#status));
    this.#watches.add(call);
    call.onClosed(() => this.#watches.delete(call));
  }

  stopServing(): void {
    this.#status = NOT_SERVING;
    for (const call of this.#watches) call.write(statusMessage(NOT_SERVING));
  }

  close(): void {
    for (const call of this.#watches) call.end(STOPPING);
  }

  #isKnown(message: Buffer): boolean {
    const request = { service: '' };
    new ProtobufReader(message).fieldsUntil(message.length, REQUEST, request);
    return this.#services.includes(request.service);
  }
}

function statusMessage(status: number): string {
  return numberField(1, status);
}

function listMessage(services: readonly string[], status: number): string {
  const response = messageField(2, statusMessage(status));
  return services.map((service) => messageField(1, textField(1, service) + response)).join('');
}
