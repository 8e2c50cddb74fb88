/** Requests as clients of an ordinary site send them, and odd ones, for `compareSites`. */
import { TUNNELLED } from './varied-application.ts';

export interface SiteRequest {
  readonly name: string;
  /** The head with its empty line. HOST in it is replaced. */
  readonly head: string;
  readonly body?: Buffer;
  /** `continue`: the body waits for 100. `upgrade`: the body goes through the tunnel. */
  readonly waits?: 'continue' | 'upgrade';
}

interface More {
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
  readonly waits?: SiteRequest['waits'];
  readonly version?: '1.0' | '1.1';
}

export function siteRequest(line: string, more: More = {}): SiteRequest {
  const { headers = [], body, waits, version = '1.1' } = more;
  const own = waits === 'upgrade' ? [] : ['Connection: close'];
  const length = body === undefined || isSized(more) ? [] : [`Content-Length: ${body.length}`];
  const lines = [`${line} HTTP/${version}`, 'Host: HOST', ...headers, ...own, ...length];
  return {
    name: [line, ...headers].join(', ').slice(0, 90),
    head: `${lines.join('\r\n')}\r\n\r\n`,
    ...(body !== undefined && { body: Buffer.from(body as string) }),
    ...(waits && { waits }),
  };
}

function isSized({ headers = [], waits }: More): boolean {
  return waits === 'upgrade' || headers.some((each) => /^transfer-encoding/i.test(each));
}

const MEGABYTE = Buffer.alloc(1_000_000, 'b');
const STATUSES = [200, 204, 400, 401, 403, 404, 405, 410, 418, 422, 429, 451, 500, 502, 503, 504];

/** `base` is where the application serves its paths: empty, or `/app`. */
export function siteRequests(base = ''): SiteRequest[] {
  const at = (line: string, more?: More) => siteRequest(line.replace(' /', ` ${base}/`), more);
  const get = (path: string, ...headers: string[]) => at(`GET ${path}`, { headers });
  return [
    ...['GET', 'HEAD', 'DELETE', 'OPTIONS', 'PROPFIND'].map((method) => at(`${method} /thing`)),
    ...STATUSES.map((status) => get(`/status-${status}`)),
    at('HEAD /status-401'),
    at('POST /status-401', { body: 'user=a' }),
    at('POST /status-403', { body: 'user=a' }),
    at('GET /thing', { version: '1.0' }),
    get('/page'),
    get('/page', 'If-None-Match: "page-1"'),
    get('/page', 'If-Modified-Since: Mon, 01 Jun 2026 10:00:00 GMT'),
    get('/page', 'Range: bytes=10-19'),
    get('/page', 'Accept-Encoding: gzip'),
    get('/stream'),
    get('/redirect'),
    get('/cookies', 'Cookie: a=1; b=2'),
    get('/cacheable'),
    get('/cacheable'),
    get('/cacheable', 'Cookie: another=client'),
    get('/large-headers'),
    at('POST /upload', { body: 'a small body' }),
    at('PUT /upload', { body: MEGABYTE }),
    at('POST /upload', {
      body: '5\r\nfirst\r\n6\r\nsecond\r\n0\r\n\r\n',
      headers: ['Transfer-Encoding: chunked'],
    }),
    at('POST /upload', { body: MEGABYTE, headers: ['Expect: 100-continue'], waits: 'continue' }),
    at('POST /upload', { body: '' }),
    at('GET /socket', {
      headers: [
        'Upgrade: websocket',
        'Connection: Upgrade',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ],
      body: TUNNELLED,
      waits: 'upgrade',
    }),
    get('/thing?query=1&a=%2F&b=%20&empty'),
    get('/thing?'),
    get('//thing'),
    get('/folder//thing'),
    get('/folder/'),
    get('/folder/../thing'),
    get('/@scope%2fname'),
    get('/fetch/http://example.com/thing'),
    get('/%7Euser/%41'),
    get('/100%25'),
    get('/caf%C3%A9'),
    get('/thing;v=1'),
    get('/THING'),
    get(`/${'long/'.repeat(200)}thing`),
    get(
      '/thing',
      'X-Forwarded-For: 198.51.100.7',
      'X-Forwarded-Proto: https',
      'X-Request-Id: from-a-balancer',
    ),
    get('/thing', 'Authorization: Basic dXNlcjpwdw=='),
    get('/thing', 'Authorization: Bearer abc', 'X-Api-Key: a-key'),
    get('/thing', 'X-RateLimit-Limit: 1', 'X-Headgate-Request-ID: 1'),
    get(
      '/thing',
      'Accept: text/html',
      'Accept-Language: de',
      'User-Agent: a-browser',
      'Referer: http://elsewhere.example/',
    ),
    get('/thing', 'Origin: http://elsewhere.example', 'Sec-Fetch-Mode: cors'),
    at('OPTIONS /thing', {
      headers: ['Origin: http://elsewhere.example', 'Access-Control-Request-Method: PUT'],
    }),
  ];
}
