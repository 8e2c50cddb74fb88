/** Requests over a unix socket. */
import { request } from 'node:http';

export interface SocketCall {
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

/** Resolves to the status of the response. */
export function statusOverSocket(
  socketPath: string,
  path: string,
  { method = 'GET', headers = {} }: SocketCall = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, method, headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject).end();
  });
}
