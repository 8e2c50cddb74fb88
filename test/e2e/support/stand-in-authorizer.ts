/** Allows every request, over HTTP and gRPC, with the token of the test: for what proxies do with it. */
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { type LocalServer, listenLocally } from '../../support/local-server.ts';

export interface StandInAuthorizer extends AsyncDisposable {
  /** Ports, for HTTP and gRPC. */
  readonly headgate: number;
  readonly grpc: number;
  /** Method and target of each request over HTTP, in order. */
  readonly targets: string[];
  /** Sent with every allow, unless undefined. */
  token: string | undefined;
}

export async function startStandInAuthorizer(): Promise<StandInAuthorizer> {
  const targets: string[] = [];
  const standIn: { token: string | undefined } = { token: undefined };
  const http = await listenLocally(
    createServer((request, response) => {
      targets.push(`${request.method} ${request.url}`);
      const token = standIn.token === undefined ? {} : { 'X-Headgate-Settle': standIn.token };
      response.writeHead(200, { ...token, 'Content-Length': 0 }).end();
    }),
  );
  const grpc = await listenToChecks(() => standIn.token);
  return Object.assign(standIn, {
    headgate: http.port,
    grpc: grpc.port,
    targets,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([http[Symbol.asyncDispose](), grpc[Symbol.asyncDispose]()]);
    },
  });
}

function listenToChecks(token: () => string | undefined): Promise<LocalServer> {
  const server = createHttp2Server();
  server.on('stream', (stream) => {
    stream.resume();
    stream.on('end', () => {
      stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(allow(token()));
    });
  });
  return listenLocally(server);
}

/** A CheckResponse in its gRPC frame. Its ok_response (3) has the header as HeaderValueOption (2), which overwrites. */
function allow(token: string | undefined): Buffer {
  const header = (value: string) =>
    field(2, [field(1, [text(1, 'x-headgate-settle'), text(2, value)]), Buffer.from([0x18, 2])]);
  const message = field(3, token === undefined ? [] : [header(token)]);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame, message]);
}

/** A field of protobuf with a length below 128 bytes. */
function field(number: number, parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content]);
}

const text = (number: number, value: string) => field(number, [Buffer.from(value)]);
