/** Answers Envoy's checks over gRPC (`envoy.service.auth.v3.Authorization/Check`), calls of other services, and health checks. */
import type { Socket } from 'node:net';
import type { GrpcTls } from '../../config/settings/environment.ts';
import type { CheckRequest, HeaderFields } from '../../core/check-request.ts';
import type { Decision } from '../../core/counting/decision.ts';
import type { AnswerStyle } from '../../core/matching/policy-set.ts';
import { headerBlock } from '../../http2/header-block.ts';
import { createHttp2Server } from '../../http2/server.ts';
import type { Http2Stream } from '../../http2/stream.ts';
import { type CallerCheck, type CallerOptions, compileCallerCheck } from '../callers.ts';
import { ConnectionGuard } from '../connection-guard.ts';
import { Connections } from '../connections.ts';
import type { HandleCheck, PendingCheck } from '../handler.ts';
import { type ClientStream, ClientStreams, type TakeMessage } from './client-stream.ts';
import { GrpcCall, type Method, refuseCall } from './grpc-call.ts';
import { createHealth } from './health.ts';
import { secureConnections } from './secure-connections.ts';
import { FAULT, NOT_ABOUT_HTTP, UNAUTHORIZED, UNKNOWN_METHOD } from './status.ts';

/** It has one method, with one message each way. */
interface UnaryService {
  /** `envoy.service.ratelimit.v3.RateLimitService` */
  readonly name: string;
  readonly method: string;
  /** Other names under which health checks know it. */
  readonly healthNames: readonly string[];
  handle(call: UnaryCall, message: Buffer, headers: HeaderFields): void;
}

/** It has one method, whose calls stay open while their callers send messages. */
interface StreamService {
  /** `envoy.service.accesslog.v3.AccessLogService` */
  readonly name: string;
  readonly method: string;
  readonly take: TakeMessage;
}

export type UnaryCall = Pick<GrpcCall, 'isGone' | 'answer' | 'fail'>;

interface GrpcServerOptions<Answer> extends CallerOptions {
  readonly dialect: GrpcDialect<Answer>;
  readonly handleCheck: HandleCheck;
  readonly tls: GrpcTls | undefined;
  readonly services: readonly UnaryService[];
  readonly streamServices: readonly StreamService[];
}

const AUTHORIZATION = 'envoy.service.auth.v3.Authorization';
const HEALTH = '/grpc.health.v1.Health';
const CONTENT_TYPE = /^application\/grpc(?:$|[+;])/;
/** From the connection to the headers of its first request, with the TLS handshake. */
const FIRST_REQUEST_MS = 5_000;
const UNSUPPORTED_MEDIA_TYPE = headerBlock([[':status', '415']]);

export function createGrpcServer<Answer>(options: GrpcServerOptions<Answer>) {
  const { services, streamServices, onConnectionFault } = options;
  const served = services.flatMap(({ name, healthNames }) => [name, ...healthNames]);
  const health = createHealth(['', AUTHORIZATION, ...served]);
  const isCaller = compileCallerCheck(options);
  const methods = new Map<string, Method>([
    [`/${AUTHORIZATION}/Check`, checkMethod(options, isCaller)],
    ...services.map((each) => serviceMethod(each, isCaller)),
    [`${HEALTH}/Check`, health.check],
    [`${HEALTH}/List`, health.list],
    [`${HEALTH}/Watch`, health.watch],
  ]);
  const streams = new ClientStreams();
  const openStream = streamOpener(streamServices, isCaller, streams);
  const connections = new Connections({ firstRequestWithinMs: FIRST_REQUEST_MS });
  const http2 = createHttp2Server();

  const answerOn = (connection: Socket, guard: ConnectionGuard) => {
    const address = guard.connection.remoteAddress ?? '';
    const ofConnection = new Set<ClientStream>();
    http2.open(connection, guard, (stream) => {
      connections.hasRequest(guard.connection);
      const { ':path': path, 'content-type': type } = stream.headers;
      const method = methods.get(String(path));
      if (!CONTENT_TYPE.test(String(type))) stream.refuse(UNSUPPORTED_MEDIA_TYPE);
      else if (method !== undefined) stream.listener = new GrpcCall(stream, address, method);
      else openStream(String(path), stream, ofConnection);
    });
  };
  const secure = options.tls && secureConnections(options.tls, answerOn);

  return {
    take(connection: Socket): void {
      if (!connections.add(connection)) return;
      const guard = new ConnectionGuard(connection, onConnectionFault);
      guard.enter(() => {
        if (secure === undefined) answerOn(connection, guard);
        else secure.take(connection);
      });
    },
    /** Reports that it is not healthy, so that callers go elsewhere. Requests are still answered. */
    drain(): void {
      health.stopServing();
    },
    async close(withinMs: number): Promise<void> {
      health.close();
      http2.close();
      streams.close();
      secure?.close();
      await connections.ended(withinMs);
    },
  };
}

/** A caller without the secret is refused before it has sent a message. */
function streamOpener(
  services: readonly StreamService[],
  isCaller: CallerCheck,
  streams: ClientStreams,
) {
  const takers = new Map(services.map(({ take, ...named }) => [pathOf(named), take]));
  return (path: string, stream: Http2Stream, ofConnection: Set<ClientStream>): void => {
    const take = takers.get(path);
    if (take === undefined) refuseCall(stream, UNKNOWN_METHOD);
    else if (isCaller(stream.headers)) streams.open(stream, take, ofConnection);
    else refuseCall(stream, UNAUTHORIZED);
  };
}

function serviceMethod(service: UnaryService, isCaller: CallerCheck): [string, Method] {
  return [
    pathOf(service),
    (call, message) => {
      if (isCaller(call.headers)) service.handle(call, message, call.headers);
      else call.fail(UNAUTHORIZED);
    },
  ];
}

function pathOf({ name, method }: Pick<UnaryService, 'name' | 'method'>): string {
  return `/${name}/${method}`;
}

function checkMethod<Answer>(options: GrpcServerOptions<Answer>, isCaller: CallerCheck): Method {
  const { dialect, handleCheck } = options;
  return (call, message) => {
    if (!isCaller(call.headers)) {
      call.answer(dialect.write(dialect.unauthorized));
      return;
    }
    const request = dialect.parse(message, call.address, call.headers);
    if (request === undefined) call.fail(NOT_ABOUT_HTTP);
    else handleCheck(new GrpcCheck(dialect, call, request));
  };
}

interface GrpcDialect<Answer> {
  readonly name: string;
  /** Returns undefined for a check that is not about an HTTP request. Throws for bytes that are no message. */
  parse(message: Buffer, remoteAddress: string, metadata: HeaderFields): CheckRequest | undefined;
  render(decision: Decision, style: AnswerStyle, headers: HeaderFields): Answer;
  /** One character for each byte. */
  write(answer: Answer): string;
  /** The answer for a caller without the proxy secret. */
  readonly unauthorized: Answer;
}

class GrpcCheck<Answer> implements PendingCheck {
  readonly #dialect: GrpcDialect<Answer>;
  readonly #call: GrpcCall;
  readonly #request: CheckRequest;

  constructor(dialect: GrpcDialect<Answer>, call: GrpcCall, request: CheckRequest) {
    this.#dialect = dialect;
    this.#call = call;
    this.#request = request;
  }

  get dialect(): string {
    return this.#dialect.name;
  }

  isGone(): boolean {
    return this.#call.isGone;
  }

  parse(): CheckRequest {
    return this.#request;
  }

  answer(decision: Decision, style: AnswerStyle): void {
    if (this.#call.isGone) return;
    const { headers } = this.#request;
    this.#call.answer(this.#dialect.write(this.#dialect.render(decision, style, headers)));
  }

  fail(): void {
    this.#call.fail(FAULT);
  }
}
