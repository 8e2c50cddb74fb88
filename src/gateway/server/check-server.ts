/**
 * Answers proxies over HTTP, on node:http alone. A framework would route, parse bodies and look at content types, and each
 * of these would answer some requests in a way that a proxy misreads.
 */
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { Dialect } from '../core/dialect.ts';
import { isHost } from '../core/matching/host.ts';
import { fastestWriter, type WriteAnswer, writeWithHead } from './answer-writer.ts';
import { type CallerOptions, compileCallerCheck } from './callers.ts';
import { Connections, type ProxyServer } from './connections.ts';
import type { HandleCheck } from './handler.ts';
import { badRequest, HttpCheck, notFound, unauthorized, writeAnswer } from './http-check.ts';
import { createServer, guardConnections, HTTP_OPTIONS } from './http-server.ts';
import { KEEP_ALIVE_MS, refuseConnection, refuseUnparsable } from './refused-connection.ts';
import { createSettleEndpoint, SETTLE_PATH, type Settling } from './settle-endpoint.ts';

interface CheckServerOptions extends CallerOptions {
  readonly dialects: readonly Dialect[];
  readonly handleCheck: HandleCheck;
  /** The address of a caller that has none: on a unix socket, or disconnected already. */
  readonly callerWithoutAddress: string;
  readonly isLeaving: () => boolean;
  /** If it is undefined, nothing is at `/settle`. */
  readonly settling: Settling | undefined;
}

/** Envoy passes on up to 60 KiB. It would show our 431 to the client as a denial. */
const MAX_HEADER_BYTES = 64 * 1024;
/**
 * No client sends so many, and Envoy (100) and HAProxy (101) let fewer through. The limit bounds the work for one
 * request: Node takes 6 ms for as many header lines as fit into 64 KiB.
 */
export const MAX_HEADERS = 256;

const SERVER_OPTIONS = {
  ...HTTP_OPTIONS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
  // By default Node keeps only the first Authorization and Host. Joined values show that there were two.
  joinDuplicateHeaders: true,
  // A client of HTTP/1.0 sends no host, and its proxy may pass on none.
  requireHostHeader: false,
  // Requests without a body get no stream events.
  optimizeEmptyRequests: true,
};

export function createCheckServer(options: CheckServerOptions): ProxyServer {
  let write = writeWithHead;
  const answer = createAnswer(options, (...given) => write(...given));
  const connections = new Connections();
  const server = openServer((message, response) => {
    connections.hasRequest(message.socket);
    answer(message, response);
  });
  guardConnections(server, options.onConnectionFault);
  return {
    async ready() {
      write = await fastestWriter(SERVER_OPTIONS);
      // From this event on, Node closes connections that are too slow.
      server.emit('listening');
    },
    take(connection) {
      connection.allowHalfOpen = true;
      if (!connections.add(connection)) return;
      // Node keeps the address that is read here. After the caller has disconnected there is none to read.
      void connection.remoteAddress;
      server.emit('connection', connection);
    },
    async close(withinMs) {
      // Requests that have arrived are read first, because the close of a connection with unread bytes is a reset.
      await turn();
      server.close();
      await connections.ended(withinMs);
    },
  };
}

function openServer(onRequest: RequestListener): Server {
  const server = createServer(SERVER_OPTIONS, onRequest);
  // One more than allowed, to notice that there are too many: older versions of Node 24 drop the rest silently.
  server.maxHeadersCount = MAX_HEADERS + 1;
  server.on('clientError', refuseUnparsable);
  // Without a listener Node closes the connection, and some proxies treat that as a failed gateway.
  server.on('connect', (_message, socket) =>
    refuseConnection(socket as Socket, '405 Method Not Allowed'),
  );
  return server;
}

function createAnswer(options: CheckServerOptions, write: WriteAnswer): RequestListener {
  const { dialects, handleCheck, callerWithoutAddress, isLeaving, settling } = options;
  const isCaller = compileCallerCheck(options);
  const at = { write, isLeaving };
  const settle = settling && createSettleEndpoint({ ...options, settling, ...at });
  return (message, response) => {
    const { url = '/' } = message;
    const dialect = dialects.find(({ mount }) => isMountedAt(mount, url));
    const mistake = protocolMistake(message);
    if (mistake !== undefined) {
      // Where the next request would begin is uncertain.
      response.shouldKeepAlive = false;
      const status = mistake.status ?? dialect?.badRequest ?? 400;
      writeAnswer(response, badRequest(status, mistake.message), at);
    } else if (dialect === undefined && url === SETTLE_PATH && settle !== undefined) {
      settle(message, response);
    } else if (!isCaller(message.headers)) {
      writeAnswer(response, unauthorized(), at);
    } else if (dialect === undefined) {
      writeAnswer(response, notFound(dialects), at);
    } else {
      const target = url.slice(dialect.mount.length);
      const check = { dialect, target, message, response, callerWithoutAddress, ...at };
      handleCheck(new HttpCheck(check));
    }
  };
}

/** `/envoy` is the mount of `/envoy/x`, `/envoy?x` and `/envoy*`, and not of `/envoys`. */
export function isMountedAt(mount: string, target: string): boolean {
  return target.startsWith(mount) && !/[\w-]/.test(target.charAt(mount.length));
}

interface ProtocolMistake {
  /** If it is undefined, the answer has the status for bad requests that the proxy passes on. */
  readonly status: 431 | undefined;
  readonly message: string;
}

type Received = Pick<IncomingMessage, 'httpVersionMajor' | 'headers' | 'rawHeaders'>;

/** Requests that Node accepts and RFC 9112 has a server refuse. A proxy could read them differently than headgate. */
export function protocolMistake(received: Received): ProtocolMistake | undefined {
  const { httpVersionMajor, headers, rawHeaders } = received;
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    return { status: 431, message: `A request can have at most ${MAX_HEADERS} headers.` };
  }
  if (httpVersionMajor !== 1) return mistake('Use HTTP/1.0 or HTTP/1.1.');
  // Section 3.2. Two hosts are joined by a comma.
  if (headers.host !== undefined && !isHost(headers.host)) {
    return mistake('Host must be one name or address with an optional port.');
  }
  // Section 6.3.
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && !/(^|,)[ \t]*chunked$/i.test(coding)) {
    return mistake('The last transfer coding must be chunked.');
  }
  return undefined;
}

function mistake(message: string): ProtocolMistake {
  return { status: undefined, message };
}
