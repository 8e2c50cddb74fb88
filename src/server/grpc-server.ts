/** Answers Envoy over gRPC (`envoy.service.auth.v3.Authorization/Check`), and whoever asks about its health. */
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import {
  type handleServerStreamingCall,
  logVerbosity,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  setLogVerbosity,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { HealthImplementation } from 'grpc-health-check';
import type { CheckRequest } from '../core/check-request.ts';
import type { Decision } from '../core/decision.ts';
import type { AnswerStyle } from '../core/policy-set.ts';
import type { HandleCheck, PendingCheck } from './check-handler.ts';
import { Connections } from './connections.ts';
import { limitResets } from './http2-guard.ts';
import { compileSecretCheck, SECRET_HEADER } from './proxy-secret.ts';

/** How a proxy asks over gRPC, and how it wants to be answered. */
export interface GrpcDialect<Asked, Answered> {
  readonly name: string;
  /** Whether that is about an HTTP request: other things cannot be decided. */
  isAboutHttp(asked: Asked): boolean;
  parse(asked: Asked, remoteAddress: string): CheckRequest;
  render(decision: Decision, style: AnswerStyle): Answered;
  /** What a caller gets who does not send the secret. */
  readonly unauthorized: Answered;
}

export interface GrpcServerOptions<Asked, Answered> {
  readonly dialect: GrpcDialect<Asked, Answered>;
  readonly handleCheck: HandleCheck;
  /** What a caller must send as metadata to be answered; nothing for none. */
  readonly proxySecrets: readonly string[];
  readonly onUnauthorized: () => void;
}

export interface GrpcServer {
  /** Answers what is asked on this connection. */
  take(connection: Socket): void;
  /** Not healthy any more, so that callers go elsewhere; they are answered when they come all the same. */
  drain(): void;
  /** Lets what is under way end for so many milliseconds. */
  close(withinMs: number): Promise<void>;
}

const SERVICE = 'envoy.service.auth.v3.Authorization';
/** Whose health can be asked for; the empty name is the server's. */
const HEALTHY = ['', SERVICE];
const PROTO = fileURLToPath(new URL('../../proto/authorization.proto', import.meta.url));

/** Errors of gRPC are never an allow: Envoy goes by its `failure_mode_allow`. */
const NOT_ABOUT_HTTP = { code: status.INVALID_ARGUMENT, details: 'This is about no HTTP request.' };
const FAULT = { code: status.INTERNAL, details: 'The gateway failed.' };

/** Of one connection, at once. */
const MAX_STREAMS = 1_024;

const OPTIONS = {
  // Together these bound what a connection can hold. What is refused here passes wherever the proxy fails open, so both
  // are more than a client can make Envoy need: 60 KiB of headers, a path among them that it writes three times as long
  // (`"` as %22) and twice; and as many questions at once as Envoy asks by itself, which on a new connection does not
  // know the limit yet.
  'grpc.max_receive_message_length': 512 * 1024,
  'grpc.max_concurrent_streams': MAX_STREAMS,
  // Finds out that a caller is gone without a word.
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.enable_channelz': 0,
};

// It would write what callers send to the log as it is, secrets that hold an odd character among it.
setLogVerbosity(logVerbosity.NONE);

export function createGrpcServer<Asked, Answered>(
  options: GrpcServerOptions<Asked, Answered>,
): GrpcServer {
  const { dialect, handleCheck, onUnauthorized } = options;
  const knowsSecret = compileSecretCheck(options.proxySecrets);
  const server = new Server(OPTIONS);
  limitResets(server, MAX_STREAMS);
  const health = new HealthImplementation(
    Object.fromEntries(HEALTHY.map((service) => [service, 'SERVING'])),
  );
  health.addToServer({
    addService: (definition, handlers) =>
      server.addService(definition, { ...handlers, watch: watchKnown(handlers.watch as Watch) }),
  });
  server.addService(loadSync(PROTO, { keepCase: true })[SERVICE] as ServiceDefinition, {
    Check(call: ServerUnaryCall<Asked, Answered>, callback: sendUnaryData<Answered>) {
      if (!knowsSecret({ [SECRET_HEADER]: call.metadata.get(SECRET_HEADER).join(',') })) {
        onUnauthorized();
        callback(null, dialect.unauthorized);
      } else if (!dialect.isAboutHttp(call.request)) {
        callback(NOT_ABOUT_HTTP);
      } else {
        handleCheck(new GrpcCheck(dialect, call, callback));
      }
    },
  });
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const connections = new Connections();

  return {
    take(connection) {
      if (connections.add(connection)) injector.injectConnection(connection);
    },
    drain() {
      // Connections are not told to go (GOAWAY) before the end: Node answers nothing that crosses with it.
      for (const service of HEALTHY) health.setStatus(service, 'NOT_SERVING');
    },
    async close(withinMs) {
      injector.destroy();
      // The server's own ways to end forget the connections that are closing already.
      await connections.ended(withinMs);
    },
  };
}

type Watch = handleServerStreamingCall<{ service: string }, { status: string }>;

/** Whatever is watched is remembered for good, and a caller may name anything. */
function watchKnown(watch: Watch): Watch {
  return (call: ServerWritableStream<{ service: string }, { status: string }>) => {
    if (HEALTHY.includes(call.request.service ?? '')) watch(call);
    else call.write({ status: 'SERVICE_UNKNOWN' });
  };
}

class GrpcCheck<Asked, Answered> implements PendingCheck {
  readonly #dialect: GrpcDialect<Asked, Answered>;
  readonly #call: ServerUnaryCall<Asked, Answered>;
  readonly #callback: sendUnaryData<Answered>;

  constructor(
    dialect: GrpcDialect<Asked, Answered>,
    call: ServerUnaryCall<Asked, Answered>,
    callback: sendUnaryData<Answered>,
  ) {
    this.#dialect = dialect;
    this.#call = call;
    this.#callback = callback;
  }

  get dialect(): string {
    return this.#dialect.name;
  }

  isGone(): boolean {
    return this.#call.cancelled;
  }

  parse(): CheckRequest {
    return this.#dialect.parse(this.#call.request, remoteAddressOf(this.#call));
  }

  answer(decision: Decision, style: AnswerStyle): void {
    this.#callback(null, this.#dialect.render(decision, style));
  }

  fail(): void {
    this.#callback(FAULT);
  }
}

/** `address:port`, in which IPv6 has no brackets. */
function remoteAddressOf(call: ServerUnaryCall<unknown, unknown>): string {
  const peer = call.getPeer();
  return peer.slice(0, peer.lastIndexOf(':'));
}
