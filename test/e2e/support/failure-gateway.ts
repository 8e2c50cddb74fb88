/** A port where a gateway is down, hangs, is killed, or has a fault. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type Http2Server } from 'node:http2';
import { fileURLToPath } from 'node:url';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { type LocalServer, listenLocally } from '../../support/local-server.ts';
import { startProcess } from '../../support/process.ts';
import type { GatewayPorts } from './failure-policies.ts';

export interface GatewayLab extends AsyncDisposable {
  /** Each makes the gateway fail so, before or during the next `requests` requests. */
  readonly failures: Readonly<Record<string, (requests: number) => Promise<void>>>;
}

const DYING = fileURLToPath(new URL('./dying-gateway.ts', import.meta.url));

export async function startGatewayLab({ port, grpcPort }: GatewayPorts): Promise<GatewayLab> {
  let here = new AsyncDisposableStack();

  async function end(): Promise<void> {
    await here.disposeAsync();
    here = new AsyncDisposableStack();
  }

  async function start(): Promise<GatewayProcess> {
    await end();
    const gateway = await startGatewayProcess({
      HEADGATE_PORT: String(port),
      HEADGATE_GRPC_PORT: String(grpcPort),
    });
    // A gateway that hangs does not hear SIGTERM.
    here.defer(async () => void (await gateway.stop('SIGKILL')));
    return gateway;
  }

  return {
    failures: {
      async 'is down'() {
        const gateway = await start();
        await gateway.stop();
      },
      async 'is killed while it decides'(requests) {
        await end();
        const args = [DYING, port, grpcPort, requests].map(String);
        const dying = here.use(startProcess(process.execPath, args));
        await dying.printed(/listening/);
      },
      async hangs() {
        const gateway = await start();
        gateway.signal('SIGSTOP');
      },
      async 'answers 500 because of a fault'() {
        await end();
        here.use(await faulty(createServer(), port));
        here.use(await faulty(createHttp2Server(), grpcPort));
      },
    },
    [Symbol.asyncDispose]: end,
  };
}

/** Answers every request with 500. */
function faulty(server: Server | Http2Server, port: number): Promise<LocalServer> {
  server.on('request', (_request, response: ServerResponse) => response.writeHead(500).end());
  return listenLocally(server, port);
}
