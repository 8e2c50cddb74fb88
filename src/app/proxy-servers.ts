/** The servers that answer proxies, over HTTP and gRPC. */
import type { Socket } from 'node:net';
import type { Environment } from '../config/settings/environment.ts';
import { envoyGrpc, HTTP_DIALECTS } from '../dialects/index.ts';
import type { HandleCheck } from '../server/check-handler.ts';
import { createCheckServer } from '../server/check-server.ts';
import { createGrpcServer } from '../server/grpc/grpc-server.ts';
import type { PortName } from '../server/proxy-ports.ts';
import type { ProxyEvents } from '../telemetry/events/proxy-events.ts';

export interface ProxyServersOptions {
  readonly environment: Environment;
  readonly handleCheck: HandleCheck;
  readonly telemetry: Pick<ProxyEvents, 'unauthorizedRefused'>;
}

export interface ProxyServers {
  ready(): Promise<void>;
  /** Answers the checks on this connection. */
  take(port: PortName, connection: Socket): void;
  /** From now on, each connection is closed with its next response. */
  drain(): void;
  /** Answers the checks under way, for so many milliseconds at most, and closes all connections. */
  close(withinMs: number): Promise<void>;
}

export function createProxyServers(options: ProxyServersOptions): ProxyServers {
  const { environment, handleCheck, telemetry } = options;
  const { proxySecrets, grpcPort, socket } = environment;
  const onUnauthorized = telemetry.unauthorizedRefused;
  let isLeaving = false;
  const checkServer = createCheckServer({
    dialects: HTTP_DIALECTS,
    handleCheck,
    callerWithoutAddress: socket === undefined ? '' : '127.0.0.1',
    proxySecrets,
    isLeaving: () => isLeaving,
    onUnauthorized,
  });
  const grpcServer =
    grpcPort === undefined
      ? undefined
      : createGrpcServer({ dialect: envoyGrpc, handleCheck, proxySecrets, onUnauthorized });
  return {
    async ready() {
      await checkServer.ready();
    },
    take(port, connection) {
      if (port === 'check') checkServer.take(connection);
      else grpcServer?.take(connection);
    },
    drain() {
      isLeaving = true;
      grpcServer?.drain();
    },
    async close(withinMs) {
      isLeaving = true;
      await Promise.all([checkServer.close(withinMs), grpcServer?.close(withinMs)]);
    },
  };
}
