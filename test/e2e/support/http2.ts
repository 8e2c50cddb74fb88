/** HTTP/2 without TLS: the proxies that accept it, and one request over it. */
import { connect } from 'node:http2';

/** On a new connection. Resolves to the status, or to undefined if the server resets the stream or closes the connection. */
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

/** What each file needs to accept it, by the name in the table of docs/proxies.md. NGINX accepts nothing else on that port then. */
export const HTTP_2: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  NGINX: { ';\n    client_max_body_size': ' http2;\n    client_max_body_size' },
  'Envoy, HTTP': {},
  'Envoy, gRPC': {},
  Caddy: { 'auto_https off': 'auto_https off\n\tservers {\n\t\tprotocols h1 h2c\n\t}' },
  HAProxy: { 'option disable-h2-upgrade': '# HTTP/2' },
};
