/** The servers that answer proxies, over HTTP and gRPC. */
import type { Socket } from 'node:net';
import type { Environment } from '../config/settings/environment.ts';
import { envoyGrpc, HTTP_DIALECTS } from '../dialects/index.ts';
import type { HandleCheck } from '../server/check-handler.ts';
import { createCheckServer } from '../server/check-server.ts';
import { createGrpcServer } from '../server/grpc/grpc-server.ts';
import { createJsonServer } from '../server/json-server.ts';
import type { PortName } from '../server/proxy-ports.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { RateLimits } from './ratelimit/rate-limits.ts';

export interface ProxyServersOptions {
  readonly environment: Environment;
  readonly handleCheck: HandleCheck;
  readonly telemetry: Pick<Telemetry['proxies'], 'unauthorizedRefused' | 'connectionFailed'>;
  /** If it is undefined, calls of Envoy's rate limit filter are not answered. */
  readonly rateLimits: RateLimits | undefined;
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
  const { environment, handleCheck, telemetry, rateLimits } = options;
  const { proxySecrets, grpcPort, grpcTls: tls, socket } = environment;
  const onUnauthorized = telemetry.unauthorizedRefused;
  const onConnectionFault = (port: PortName) => (error: unknown) =>
    telemetry.connectionFailed(port, error);
  let isLeaving = false;
  const checkServer = createCheckServer({
    dialects: HTTP_DIALECTS,
    handleCheck,
    callerWithoutAddress: socket === undefined ? '' : '127.0.0.1',
    proxySecrets,
    isLeaving: () => isLeaving,
    onUnauthorized,
    onConnectionFault: onConnectionFault('check'),
  });
  const grpcServer =
    grpcPort === undefined
      ? undefined
      : createGrpcServer({
          dialect: envoyGrpc,
          handleCheck,
          proxySecrets,
          onUnauthorized,
          onConnectionFault: onConnectionFault('grpc'),
          tls,
          services: rateLimits === undefined ? [] : [rateLimits.service],
        });
  const jsonServer =
    rateLimits === undefined || environment.rateLimit?.httpPort === undefined
      ? undefined
      : createJsonServer({
          answer: rateLimits.answerJson,
          proxySecrets,
          onUnauthorized,
          onConnectionFault: onConnectionFault('json'),
          isHealthy: () => !isLeaving && rateLimits.isHealthy(),
        });
  return {
    async ready() {
      await Promise.all([checkServer.ready(), jsonServer?.ready()]);
    },
    take(port, connection) {
      if (port === 'check') checkServer.take(connection);
      else if (port === 'grpc') grpcServer?.take(connection);
      else jsonServer?.take(connection);
    },
    drain() {
      isLeaving = true;
      grpcServer?.drain();
    },
    async close(withinMs) {
      isLeaving = true;
      const servers = [checkServer, grpcServer, jsonServer];
      await Promise.all(servers.map((server) => server?.close(withinMs)));
    },
  };
}
