/** The smallest proxy checks each request in the dialect of Envoy, then forwards it or passes the denial on. */
import {
  type IncomingMessage,
  type RequestListener,
  request,
  type ServerResponse,
} from 'node:http';

const HOST = '127.0.0.1';

const SHOWN_IF_ALLOWED = /^(x-)?ratelimit/i;
const SHOWN_IF_DENIED = /^((x-)?ratelimit|(retry-after|content-type|cache-control)$)/i;

export function demoProxy(gatewayPort: number, forward: RequestListener): RequestListener {
  return (client, response) => {
    const { method, url, headers } = client;
    // A client that has disconnected has no address any more.
    const address = client.socket.remoteAddress ?? HOST;
    const check = request({
      ...{ host: HOST, port: gatewayPort, method, path: `/envoy${url}` },
      headers: {
        host: headers.host ?? '',
        ...(headers['x-api-key'] && { 'x-api-key': headers['x-api-key'] }),
        'x-headgate-peer-ip': address,
        'x-headgate-client-ip': address,
      },
    });
    check.on('response', (verdict) => {
      const isAllowed = verdict.statusCode === 200;
      copyHeaders(verdict, response, isAllowed ? SHOWN_IF_ALLOWED : SHOWN_IF_DENIED);
      if (isAllowed) {
        verdict.resume();
        forward(client, response);
      } else verdict.pipe(response.writeHead(verdict.statusCode ?? 500));
    });
    check.on('error', () => response.destroy()).end();
  };
}

function copyHeaders({ rawHeaders }: IncomingMessage, to: ServerResponse, shown: RegExp): void {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    if (shown.test(name)) to.appendHeader(name, value);
  }
}
