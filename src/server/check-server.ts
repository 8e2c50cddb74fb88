/**
 * Answers proxies over HTTP. Every request is decided in one onRequest hook: before routing, body parsing and content
 * types, any of which would answer some request in a way that its proxy misreads.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fastify from 'fastify';
import type { CheckRequest } from '../core/check-request.ts';
import type { Decision } from '../core/decision.ts';
import type { Answer, Dialect } from '../core/dialect.ts';
import { isHost } from '../core/host.ts';
import type { AnswerStyle } from '../core/policy-set.ts';
import type { HandleCheck, PendingCheck } from './check-handler.ts';
import { Connections } from './connections.ts';
import { HTTP_LIMITS } from './http-limits.ts';
import { compileSecretCheck } from './proxy-secret.ts';

export interface CheckServerOptions {
  readonly dialects: readonly Dialect[];
  readonly handleCheck: HandleCheck;
  /** Stands for a caller without an address: one on a unix socket, or one that is gone already. */
  readonly callerWithoutAddress: string;
  /** What a caller must send to be answered; nothing for none. */
  readonly proxySecrets: readonly string[];
  /** Whether callers should go elsewhere with their next request. */
  readonly isLeaving: () => boolean;
  readonly onUnauthorized: () => void;
}

/** Envoy passes up to 60 KiB on, and would show our 431 to the client as a denial. */
const MAX_HEADER_BYTES = 64 * 1024;

/**
 * More than any client sends, and more than Envoy (100) and HAProxy (101) let through. Nothing else bounds the work: Node
 * takes 6 ms for as many header lines as fit into 64 KiB. More are refused with 431.
 */
const MAX_HEADERS = 256;
const TOO_MANY_HEADERS = `A request has at most ${MAX_HEADERS} headers.`;

/** Longer than any proxy keeps an idle connection (Envoy: an hour), so that none reuses one that we just closed. */
const KEEP_ALIVE_MS = 3_620_000;

/** How long a caller that was refused has to read why. */
const LAST_WORD_MS = 500;

export interface CheckServer {
  /** Resolves once it can answer. */
  ready(): Promise<void>;
  /** Answers what is asked on this connection. */
  take(connection: Socket): void;
  /** Answers the requests that have begun, for so many milliseconds, and closes every connection. */
  close(withinMs: number): Promise<void>;
}

export function createCheckServer(options: CheckServerOptions): CheckServer {
  const knowsSecret = compileSecretCheck(options.proxySecrets);
  const server = fastify({
    ...HTTP_LIMITS,
    logger: false,
    // No proxy is told to go elsewhere while we stop: what it asks is answered to the end.
    return503OnClosing: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      ...HTTP_LIMITS.http,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Node drops all but the first Authorization or Host; joined, they show that there were two.
      joinDuplicateHeaders: true,
      // A client of HTTP/1.0 has no host, and its proxy none to pass on.
      requireHostHeader: false,
    },
    clientErrorHandler: refuseUnparsable,
    // The router would decode, and refuse, targets that are ours to judge.
    rewriteUrl: () => '/',
  });
  // One more, which is refused below: older patches of Node drop what comes after the last without a word.
  server.server.maxHeadersCount = MAX_HEADERS + 1;
  // Without a listener the connection just ends, which some proxies take for a gateway that failed.
  server.server.on('connect', (_message, socket) =>
    refuse(socket as Socket, '405 Method Not Allowed'),
  );
  server.addHook('onRequest', (request, reply) => {
    reply.hijack();
    const { raw } = request;
    const target = (raw as { originalUrl?: string }).originalUrl ?? '/';
    const dialect = options.dialects.find(({ mount }) => isMountedAt(mount, target));
    const isTooLong = raw.rawHeaders.length > 2 * MAX_HEADERS;
    const mistake = isTooLong ? TOO_MANY_HEADERS : protocolMistake(raw);
    if (mistake !== undefined) {
      // Where such a request ends is anybody's guess.
      reply.raw.shouldKeepAlive = false;
      const status = isTooLong ? 431 : (dialect?.badRequest ?? 400);
      write(reply.raw, failure(status, 'bad_request', mistake), options);
    } else if (!knowsSecret(raw.headers)) {
      options.onUnauthorized();
      write(
        reply.raw,
        failure(403, 'forbidden', 'Only proxies that send the secret are answered.'),
        options,
      );
    } else if (dialect === undefined) {
      write(reply.raw, notFound(options.dialects), options);
    } else {
      const asked = target.slice(dialect.mount.length);
      options.handleCheck(new HttpCheck(dialect, asked, raw, reply.raw, options));
    }
  });
  const connections = new Connections();
  return {
    async ready() {
      await server.ready();
      // From this event on, Node cuts off connections that are too slow.
      server.server.emit('listening');
    },
    take(connection) {
      connection.allowHalfOpen = true;
      if (!connections.add(connection)) return;
      // Asked for now, it is also known of a caller who is gone by the time that its question is read.
      void connection.remoteAddress;
      server.server.emit('connection', connection);
    },
    async close(withinMs) {
      // Closes those that are idle.
      await server.close();
      await connections.ended(withinMs);
    },
  };
}

/** What Node lets through, and RFC 9112 has a server refuse. */
function protocolMistake({ httpVersionMajor, headers }: IncomingMessage): string | undefined {
  if (httpVersionMajor !== 1) return 'HTTP/1.0 and HTTP/1.1 are spoken here.';
  // Section 3.2; two of them are joined by a comma.
  if (headers.host !== undefined && !isHost(headers.host)) {
    return 'Host is not one name or address with an optional port.';
  }
  // Section 6.3.
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && !/(^|,)[ \t]*chunked$/i.test(coding)) {
    return 'The last transfer coding is chunked.';
  }
  return undefined;
}

class HttpCheck implements PendingCheck {
  readonly #dialect: Dialect;
  readonly #target: string;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: CheckServerOptions;

  constructor(
    dialect: Dialect,
    target: string,
    message: IncomingMessage,
    response: ServerResponse,
    options: CheckServerOptions,
  ) {
    this.#dialect = dialect;
    this.#target = target;
    this.#message = message;
    this.#response = response;
    this.#options = options;
  }

  get dialect(): string {
    return this.#dialect.name;
  }

  isGone(): boolean {
    const { socket } = this.#message;
    return socket.destroyed || socket.readableEnded;
  }

  parse(): CheckRequest {
    const { method = '', headers, socket } = this.#message;
    const remoteAddress = socket.remoteAddress ?? this.#options.callerWithoutAddress;
    return this.#dialect.parse({ method, target: this.#target, headers, remoteAddress });
  }

  answer(decision: Decision, style: AnswerStyle): void {
    write(this.#response, this.#dialect.render(decision, style), this.#options);
  }

  fail(): void {
    if (this.#response.headersSent) return;
    write(this.#response, failure(500, 'internal_error', 'The gateway failed.'), this.#options);
  }
}

function write(
  response: ServerResponse,
  { status, headers, body }: Answer,
  { isLeaving }: CheckServerOptions,
): void {
  // The caller is told with its answer. Closing what is idle would cross with what it is just sending.
  if (isLeaving()) response.shouldKeepAlive = false;
  // Node leaves the body out by itself for a HEAD, and its length must still be told.
  headers.push('Content-Length', String(Buffer.byteLength(body)));
  response.writeHead(status, headers);
  response.end(body);
}

/** `/envoy` is the mount of `/envoy/x`, `/envoy?x` and `/envoy*`, and not of `/envoys`. */
function isMountedAt(mount: string, target: string): boolean {
  return target.startsWith(mount) && !/[\w-]/.test(target.charAt(mount.length));
}

function notFound(dialects: readonly Dialect[]): Answer {
  const mounts = dialects.map(({ mount }) => mount).join(', ');
  return failure(404, 'not_found', `Nothing is here. Proxies ask at ${mounts}.`);
}

function failure(status: number, error: string, message: string): Answer {
  return {
    status,
    headers: ['Content-Type', 'application/json', 'Cache-Control', 'no-store'],
    body: JSON.stringify({ error, message }),
  };
}

/** What cannot be parsed is never allowed: 400, or 431 for too many headers, and the connection is closed. */
function refuseUnparsable(error: Error, socket: Socket): void {
  // Told already. What it still sends is read and dropped: a reset would overtake the answer, and a proxy that fails open
  // takes one for a gateway that is gone.
  if (REFUSED.has(socket)) return;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) {
    // Envoy and Go open connections that they find no use for yet: closing one would cross with its first request.
    socket.setTimeout(KEEP_ALIVE_MS);
    return;
  }
  const status =
    code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request';
  refuse(socket, status);
}

/** Connections whose answer says why they are closed. */
const REFUSED = new WeakSet<Socket>();

function refuse(socket: Socket, status: string): void {
  REFUSED.add(socket);
  // Whoever asked may be gone, or never close its side.
  socket.on('error', () => socket.destroy()).resume();
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  setTimeout(() => socket.destroy(), LAST_WORD_MS).unref();
}
