/** One request over HTTP/2 without TLS, on a connection of its own. */
import { connect } from 'node:http2';

/** Resolves to the status, or to undefined if the server resets the stream or closes the connection. */
export function statusOverHttp2(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<number | undefined> {
  return new Promise((resolve) => {
    const session = connect(url);
    const end = (status?: number) => {
      resolve(status);
      session.destroy();
    };
    session.on('error', () => end());
    session.on('close', () => end());
    const request = session.request({ ':path': path, ...headers });
    request.on('response', (answer) => end(answer[':status']));
    request.on('error', () => end());
    request.on('close', () => end());
    request.end();
  });
}
