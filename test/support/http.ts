/** Requests exactly as written: fetch would tidy the path, and refuse some headers. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Name, value, name, value, as they arrived. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export interface HttpCall {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string | Buffer;
  readonly agent?: Agent;
  /** In place of the host and port of the URL. */
  readonly socketPath?: string;
}

const KEEP_ALIVE = new Agent({ keepAlive: true, maxSockets: 64 });

export function call(baseUrl: string, path: string, options: HttpCall = {}): Promise<HttpAnswer> {
  const { hostname, port } = new URL(baseUrl);
  const { method = 'GET', headers = {}, body, agent = KEEP_ALIVE, socketPath } = options;
  const place = socketPath === undefined ? { hostname, port } : { socketPath };
  return new Promise((resolve, reject) => {
    const sent = request({ ...place, path, method, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          rawHeaders: response.rawHeaders,
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Calls one after the other, and their status codes. */
export async function statuses(times: number, once: (i: number) => Promise<HttpAnswer>) {
  const codes: number[] = [];
  for (let i = 0; i < times; i++) codes.push((await once(i)).status);
  return codes;
}
