/** A 429 to look at: an application, something that asks as Envoy does, and a gateway, in one process. */
import { once } from 'node:events';
import { createServer, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createGateway } from '../../app/gateway.ts';
import { openPolicySource } from '../../config/policy-file/policy-source.ts';
import { type Environment, readEnvironment } from '../../config/settings/environment.ts';
import { VERSION } from '../../config/version.ts';
import { createTelemetry } from '../../telemetry/telemetry.ts';
import { EXIT_FAULT } from './exit-codes.ts';
import { complain, linesIn, say } from './output.ts';
import { endWithGrace } from './shutdown.ts';

const HOST = '127.0.0.1';
const PROXY_FILES = fileURLToPath(new URL('../../../deploy', import.meta.url));

/** The shipped settings, whatever those of this shell are: nobody else listens on ports that are free. */
const environment: Environment = {
  ...readEnvironment({}),
  port: 0,
  grpcPort: undefined,
  opsPort: 0,
  drainMs: 0,
  logLevel: 'warn',
};

export async function demo({ port }: { port: number }): Promise<void> {
  const telemetry = createTelemetry({
    level: environment.logLevel,
    version: VERSION,
    now: Date.now,
  });
  const policies = openPolicySource(environment);
  const gateway = createGateway({ environment, policies, telemetry, now: Date.now });
  const proxy = createServer();
  const close = async () => {
    proxy.close();
    proxy.closeAllConnections();
    await gateway.close();
  };
  const ending = endWithGrace({ drain: gateway.drain, close }, environment, telemetry);
  try {
    const { check } = await gateway.listen();
    proxy.on('request', askFirst((check as AddressInfo).port, application));
    await once(proxy.listen(port, HOST), 'listening');
    say(linesIn(instructions(`http://${HOST}:${(proxy.address() as AddressInfo).port}`)));
  } catch (error) {
    ending.uninstall();
    await close();
    const { code, port: refused } = error as NodeJS.ErrnoException & { port?: number };
    if (refused !== port) throw error;
    const why = code === 'EADDRINUSE' ? 'is taken' : `is not to be had (${code})`;
    complain(`headgate: port ${port} ${why}, choose another with --port`);
    process.exitCode = EXIT_FAULT;
  }
}

/** What it is all for. */
const application: RequestListener = (_request, response) => {
  response.setHeader('Content-Type', 'text/plain');
  response.end('hello from the application\n');
};

/** Of a gateway's answer, what the client gets to see. */
const SHOWN_OF_ALLOW = /^(x-)?ratelimit/i;
const SHOWN_OF_DENIAL = /^((x-)?ratelimit|(retry-after|content-type|cache-control)$)/i;

/** The least that a proxy does: asks about each request, and lets it through or passes the denial on. */
function askFirst(gatewayPort: number, next: RequestListener): RequestListener {
  return (client, response) => {
    const { method, url, headers } = client;
    // Who is gone again came from here, too.
    const address = client.socket.remoteAddress ?? HOST;
    const question = request({
      ...{ host: HOST, port: gatewayPort, method, path: `/envoy${url}` },
      headers: {
        host: headers.host ?? '',
        ...(headers['x-api-key'] && { 'x-api-key': headers['x-api-key'] }),
        'x-headgate-peer-ip': address,
        'x-headgate-client-ip': address,
      },
    });
    question.on('response', (answer) => {
      const { statusCode = 500, rawHeaders } = answer;
      const shown = statusCode === 200 ? SHOWN_OF_ALLOW : SHOWN_OF_DENIAL;
      for (let i = 0; i < rawHeaders.length; i += 2) {
        const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
        if (shown.test(name)) response.appendHeader(name, value);
      }
      if (statusCode === 200) {
        answer.resume();
        next(client, response);
      } else answer.pipe(response.writeHead(statusCode));
    });
    question.on('error', () => response.destroy()).end();
  };
}

function instructions(url: string): string {
  return `An application at ${url}, behind a proxy that asks headgate about each request. Type six times:

  curl -i -X POST ${url}/api/auth/login

Five times the application answers, and X-RateLimit-Remaining counts down; the sixth time headgate does, with a 429.
With -H 'x-api-key: alice' you are somebody else, who has five of her own. Other paths have other limits.

  limits    ${environment.policies}
  proxies   ${PROXY_FILES} has what NGINX, Envoy and others need to ask
  go on     headgate serve is the gateway alone; with HEADGATE_REDIS_URL several of them count together
  stop      Ctrl+C`;
}
