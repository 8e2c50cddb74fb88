/** Carries the messages of Envoy's aggregated discovery service (envoy/service/discovery/v3/ads.proto), state of the world. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  type IncomingHttpHeaders,
} from 'node:http2';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Target, targetText } from '../../config/settings/control-plane-forms.ts';
import type { ControlPlaneTls } from '../../config/settings/environment.ts';
import { readText } from '../../config/text-file.ts';
import { printable } from '../../core/printable.ts';
import { FrameReader } from '../../protobuf/frames.ts';
import { framed } from '../../protobuf/writer.ts';

export interface AdsServer {
  readonly target: Target;
  /** Without these, the connection has no TLS. */
  readonly tls?: ControlPlaneTls | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly bounds: StreamBounds;
}

export interface StreamBounds {
  readonly maxMessageBytes: number;
  readonly connectWithinMs: number;
  /** A gRPC server for Go disconnects clients that send more than one in 5 minutes (its `keepalive.EnforcementPolicy`). */
  readonly pingEveryMs: number;
  readonly pongWithinMs: number;
}

export interface AdsEvents {
  /** The control plane speaks HTTP/2. Messages may be sent from now on. */
  opened(): void;
  /** The bytes are valid until it returns. */
  message(bytes: Buffer): void;
  /** Once, unless the stream was closed from here. */
  ended(reason: string): void;
}

const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
const HEADERS = {
  ':method': 'POST',
  ':path': PATH,
  'content-type': 'application/grpc',
  te: 'trailers',
};
/** A control plane that sends responses and does not read the replies must not fill the memory. */
const MAX_UNSENT_BYTES = 256 * 1024;
const LONGEST_REASON = 300;

export class AdsStream {
  readonly #server: AdsServer;
  readonly #events: AdsEvents;
  readonly #frames: FrameReader;
  #socket: Socket | undefined;
  #session: ClientHttp2Session | undefined;
  #stream: ClientHttp2Stream | undefined;
  #hasEnded = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(server: AdsServer, events: AdsEvents) {
    this.#server = server;
    this.#events = events;
    this.#frames = new FrameReader(server.bounds.maxMessageBytes);
    // So that no event comes before the constructor has returned.
    process.nextTick(() => this.#attempt(() => this.#connect()));
  }

  /** The message is a string with one character for each byte. */
  send(message: string): void {
    if (this.#hasEnded || this.#stream === undefined) return;
    this.#stream.write(framed(message), 'latin1');
    if (this.#stream.writableLength > MAX_UNSENT_BYTES) this.end('it does not read what is sent');
  }

  close(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#session?.destroy();
    this.#socket?.destroy();
  }

  end(reason: string): void {
    if (this.#hasEnded) return;
    this.close();
    const line = printable(reason);
    this.#events.ended(line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON)}…` : line);
  }

  #attempt(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.end(messageOf(error));
    }
  }

  #connect(): void {
    if (this.#hasEnded) return;
    const { target, tls, bounds } = this.#server;
    const socket = openConnection(target, tls);
    const session = connectHttp2(
      `${tls === undefined ? 'http' : 'https'}://${targetText(target)}`,
      {
        createConnection: () => socket,
        settings: { enablePush: false },
      },
    );
    this.#session = session;
    this.#socket = socket;
    this.#timer = setTimeout(() => {
      this.end(`no connection within ${bounds.connectWithinMs} ms`);
    }, bounds.connectWithinMs);
    // After an alert of TLS, Node's session emits neither of these events.
    socket.on('error', (error) => this.end(messageOf(error)));
    socket.on('close', () => this.end('the connection was closed'));
    session.on('error', (error) => this.end(messageOf(error)));
    session.on('goaway', (code) => this.end(`it closes the connection (GOAWAY, code ${code})`));
    session.on('close', () => this.end('the connection was closed'));
    session.once('remoteSettings', () => this.#attempt(() => this.#open(session)));
  }

  #open(session: ClientHttp2Session): void {
    if (this.#hasEnded) return;
    clearTimeout(this.#timer);
    const stream = session.request({ ...this.#server.headers, ...HEADERS });
    this.#stream = stream;
    stream.on('error', (error) => this.end(messageOf(error)));
    stream.on('response', (headers) => this.#checkHeaders(headers));
    stream.on('trailers', (headers) => this.end(statusText(headers)));
    stream.on('data', (chunk: Buffer) => this.#attempt(() => this.#read(chunk)));
    stream.on('close', () => this.end('it ended the stream without a status'));
    this.#pingLater(session);
    this.#events.opened();
  }

  #read(chunk: Buffer): void {
    if (this.#hasEnded) return;
    for (const message of this.#frames.add(chunk)) {
      this.#events.message(message);
      if (this.#hasEnded) return;
    }
  }

  #checkHeaders(headers: IncomingHttpHeaders): void {
    const type = headers['content-type'] ?? '';
    if (headers[':status'] !== undefined && String(headers[':status']) !== '200') {
      this.end(`it answers with the HTTP status ${headers[':status']}`);
    } else if (!type.startsWith('application/grpc')) {
      this.end(`it does not speak gRPC: it answers with the content type "${type}"`);
    } else if (headers['grpc-status'] !== undefined) this.end(statusText(headers));
  }

  #pingLater(session: ClientHttp2Session): void {
    const { pingEveryMs, pongWithinMs } = this.#server.bounds;
    this.#timer = setTimeout(() => {
      this.#timer = setTimeout(() => this.end('it does not answer a ping'), pongWithinMs);
      session.ping((error) => {
        if (this.#hasEnded) return;
        clearTimeout(this.#timer);
        if (error === null) this.#pingLater(session);
        else this.end(messageOf(error));
      });
    }, pingEveryMs);
  }
}

function statusText(headers: IncomingHttpHeaders): string {
  const { 'grpc-status': code, 'grpc-message': message = '' } = headers;
  if (code === undefined) return 'it ended the stream without a status';
  const text = message === '' ? '' : `: ${decoded(String(message))}`;
  return `it ended the stream with the gRPC status ${code}${text}`;
}

/** gRPC encodes characters beyond ASCII as in a URL. */
function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}

/** The texts of OpenSSL hide the reason between names of C files. Errors of several addresses have no text. */
function messageOf(error: unknown): string {
  const { reason, message, code = '' } = error as NodeJS.ErrnoException & { reason?: string };
  if (code.startsWith('ERR_SSL_') && reason) return reason;
  return message || code || 'the connection failed';
}

/** Finds dead peers. HTTP/2 pings must be minutes apart (see `StreamBounds`). */
const KEEP_ALIVE_MS = 20_000;

/** Connects without TLS if there are no files. Throws a FileError. */
function openConnection(target: Target, files: ControlPlaneTls | undefined): Socket {
  const socket = files === undefined ? connect(target) : openTls(target, files);
  // Node would forget the time if it were set before the socket is connected.
  return socket.once('connect', () => socket.setKeepAlive(true, KEEP_ALIVE_MS));
}

/** Reads the files for each connection, because programs such as cert-manager replace them while the gateway runs. */
function openTls(target: Target, { ca, certificate, key, serverName }: ControlPlaneTls): Socket {
  const name = serverName ?? (isIP(target.host) === 0 ? target.host : undefined);
  return connectTls({
    ...target,
    ALPNProtocols: ['h2'],
    ...(ca !== undefined && { ca: readText(ca) }),
    ...(certificate !== undefined && { cert: readText(certificate) }),
    ...(key !== undefined && { key: readText(key) }),
    ...(name !== undefined && { servername: name }),
  });
}
