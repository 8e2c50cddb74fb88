/** An application that answers in many ways, by the last segment of the path, and records what it receives. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type LocalServer, listenLocally } from '../../support/local-server.ts';
import { type ReceivedBody, recordingServer } from '../../support/recording-server.ts';

export interface Received extends ReceivedBody {
  readonly method: string;
  readonly target: string;
  /** Name in lower case and value, in the order of the request. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** What a client sends through a tunnel, and gets back. */
export const TUNNELLED = 'through the tunnel';

export interface VariedApplication extends LocalServer {
  readonly received: Received[];
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const PAGE =
  '<!doctype html><title>A page</title><p>The application has served this page.\n'.repeat(9);
const ETAG = '"page-1"';
const MODIFIED = 'Mon, 01 Jun 2026 10:00:00 GMT';

/** By the last segment of the path. `status-404` and the like: that status. Others: a small text. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  page(request, response) {
    const known = { ETag: ETAG, 'Last-Modified': MODIFIED, 'Content-Type': 'text/html' };
    const { 'if-none-match': match, 'if-modified-since': since, range } = request.headers;
    if (match === ETAG || since === MODIFIED) return response.writeHead(304, known).end();
    if (range !== 'bytes=10-19') return response.writeHead(200, known).end(PAGE);
    const part = { ...known, 'Content-Range': `bytes 10-19/${PAGE.length}` };
    return response.writeHead(206, part).end(PAGE.slice(10, 20));
  },
  stream(_, response) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const part of ['one', 'two', 'three']) response.write(`data: ${part}\n\n`);
    response.end();
  },
  redirect(_, response) {
    response.writeHead(302, { Location: '/elsewhere?from=redirect', 'Content-Length': 0 }).end();
  },
  'redirect-to-host'(request, response) {
    const { host } = request.headers;
    response
      .writeHead(302, { Location: `http://${host}/api/elsewhere`, 'Content-Length': 0 })
      .end();
  },
  cookies(_, response) {
    response.writeHead(200, { 'Set-Cookie': ['a=1; Path=/', 'b=2; HttpOnly'], Vary: 'Cookie' });
    response.end('cookies');
  },
  cacheable(_, response) {
    response.writeHead(200, { 'Cache-Control': 'public, max-age=60', 'Content-Type': 'text/css' });
    response.end('p { margin: 0 }');
  },
  'large-headers'(_, response) {
    for (let n = 0; n < 20; n++) response.setHeader(`X-Large-${n}`, 'v'.repeat(150));
    response.end('large headers');
  },
};

function answer(request: IncomingMessage, response: ServerResponse): void {
  // Without a type, Caddy guesses one from what has arrived of the body, which differs each time.
  response.setHeader('Content-Type', 'text/plain');
  const last = (request.url ?? '').replace(/[?#].*$/s, '').replace(/^.*\//s, '');
  const status = /^status-(\d{3})$/.exec(last)?.[1];
  const own = ANSWERS[last];
  if (own !== undefined) own(request, response);
  else if (status === undefined) response.end(`served ${request.method} ${last.length}`);
  else answerStatus(Number(status), response);
}

function answerStatus(status: number, response: ServerResponse): void {
  if (status === 401) response.setHeader('WWW-Authenticate', 'Basic realm="the application"');
  if (status === 503) response.setHeader('Retry-After', '7');
  response.writeHead(status, { 'Content-Type': 'application/json', 'Set-Cookie': `s=${status}` });
  response.end(`{"error":"the application answers ${status}"}\n`);
}

export async function startVariedApplication(): Promise<VariedApplication> {
  const received: Received[] = [];
  const server = recordingServer((request, response, body) => {
    received.push(receivedOf(request, body));
    answer(request, response);
  });
  server.on('upgrade', (request, socket) => {
    received.push(receivedOf(request, { bytes: 0, sha256: '' }));
    socket.on('error', () => socket.destroy());
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    );
    // A proxy may pass it on in pieces.
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk;
      if (text.length >= TUNNELLED.length) socket.end(text);
    });
  });
  return { ...(await listenLocally(server)), received };
}

function receivedOf({ method = '', url = '', rawHeaders }: IncomingMessage, body: ReceivedBody) {
  const headers: [string, string][] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    headers.push([(rawHeaders[i] ?? '').toLowerCase(), rawHeaders[i + 1] ?? '']);
  return { method, target: url, headers, ...body };
}
