/** Answers Envoy's checks over gRPC (`envoy.service.auth.v3.Authorization/Check`), and health checks. */
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

/** The messages of a proxy that sends checks over gRPC. */
export interface GrpcDialect<Request, Response> {
  readonly name: string;
  /** Whether the check is about an HTTP request. No other check can be decided. */
  isAboutHttp(request: Request): boolean;
  parse(request: Request, remoteAddress: string): CheckRequest;
  render(decision: Decision, style: AnswerStyle): Response;
  /** The answer for a caller without the proxy secret. */
  readonly unauthorized: Response;
}

export interface GrpcServerOptions<Request, Response> {
  readonly dialect: GrpcDialect<Request, Response>;
  readonly handleCheck: HandleCheck;
  /** A caller must send one of these as metadata. Empty: every caller is answered. */
  readonly proxySecrets: readonly string[];
  readonly onUnauthorized: () => void;
}

export interface GrpcServer {
  /** Answers the requests of this connection. */
  take(connection: Socket): void;
  /** Reports that it is not healthy, so that callers go elsewhere. Requests are still answered. */
  drain(): void;
  /** Waits at most so many milliseconds for requests that have begun, and closes every connection. */
  close(withinMs: number): Promise<void>;
}

const SERVICE = 'envoy.service.auth.v3.Authorization';
/** Services whose health can be checked. The empty name is the server. */
const CHECKED_SERVICES = ['', SERVICE];
const PROTO = fileURLToPath(new URL('../../proto/authorization.proto', import.meta.url));

/** A gRPC error is never an allow: Envoy then applies its `failure_mode_allow`. */
const NOT_ABOUT_HTTP = {
  code: status.INVALID_ARGUMENT,
  details: 'The check is not about an HTTP request.',
};
const FAULT = { code: status.INTERNAL, details: 'The gateway failed.' };

/** Streams of one connection at the same time. */
const MAX_STREAMS = 1_024;

const OPTIONS = {
  // Together these bound the memory of a connection. If a check is refused here, a proxy that fails open lets the request
  // through. So both are above what a client can make Envoy send: 60 KiB of headers, with a path that Envoy sends twice
  // and three times as long (`"` as %22); and as many checks at once as Envoy sends on a new connection, where it does
  // not know the limit yet.
  'grpc.max_receive_message_length': 512 * 1024,
  'grpc.max_concurrent_streams': MAX_STREAMS,
  // Detects callers that disappeared without closing the connection.
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.enable_channelz': 0,
};

// The library would log what callers send, including secrets with odd characters.
setLogVerbosity(logVerbosity.NONE);

export function createGrpcServer<Request, Response>(
  options: GrpcServerOptions<Request, Response>,
): GrpcServer {
  const { dialect, handleCheck, onUnauthorized } = options;
  const knowsSecret = compileSecretCheck(options.proxySecrets);
  const server = new Server(OPTIONS);
  limitResets(server, MAX_STREAMS);
  const health = new HealthImplementation(
    Object.fromEntries(CHECKED_SERVICES.map((service) => [service, 'SERVING'])),
  );
  health.addToServer({
    addService: (definition, handlers) =>
      server.addService(definition, { ...handlers, watch: watchKnown(handlers.watch as Watch) }),
  });
  server.addService(loadSync(PROTO, { keepCase: true })[SERVICE] as ServiceDefinition, {
    Check(call: ServerUnaryCall<Request, Response>, callback: sendUnaryData<Response>) {
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
      // GOAWAY is not sent before the end, because Node does not answer requests that arrive at the same time.
      for (const service of CHECKED_SERVICES) health.setStatus(service, 'NOT_SERVING');
    },
    async close(withinMs) {
      injector.destroy();
      // The server's own shutdown does not wait for connections that are closing already.
      await connections.ended(withinMs);
    },
  };
}

type Watch = handleServerStreamingCall<{ service: string }, { status: string }>;

/** The library remembers every watched name for good, and a caller can send any name. */
function watchKnown(watch: Watch): Watch {
  return (call: ServerWritableStream<{ service: string }, { status: string }>) => {
    if (CHECKED_SERVICES.includes(call.request.service ?? '')) watch(call);
    else call.write({ status: 'SERVICE_UNKNOWN' });
  };
}

class GrpcCheck<Request, Response> implements PendingCheck {
  readonly #dialect: GrpcDialect<Request, Response>;
  readonly #call: ServerUnaryCall<Request, Response>;
  readonly #callback: sendUnaryData<Response>;

  constructor(
    dialect: GrpcDialect<Request, Response>,
    call: ServerUnaryCall<Request, Response>,
    callback: sendUnaryData<Response>,
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

/** The peer is `address:port`, and IPv6 has no brackets there. */
function remoteAddressOf(call: ServerUnaryCall<unknown, unknown>): string {
  const peer = call.getPeer();
  return peer.slice(0, peer.lastIndexOf(':'));
}
