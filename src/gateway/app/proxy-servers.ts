import type { Socket } from 'node:net';
import type { Environment } from '../config/settings/environment.ts';
import { envoyGrpc, HTTP_DIALECTS } from '../dialects/index.ts';
import type { CallerOptions } from '../server/callers.ts';
import { createCheckServer } from '../server/check-server.ts';
import { createGrpcServer } from '../server/grpc/grpc-server.ts';
import type { Arrivals, HandleCheck } from '../server/handler.ts';
import { createJsonServer } from '../server/json-server.ts';
import type { PortName } from '../server/proxy-ports.ts';
import { accessLogService } from '../settlement/access-log.ts';
import type { Settle } from '../settlement/channel.ts';
import { settleOverHttp } from '../settlement/http-channel.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { RateLimits } from './ratelimit/rate-limits.ts';

interface ProxyServersOptions {
  readonly environment: Environment;
  readonly handleCheck: HandleCheck;
  readonly telemetry: Pick<Telemetry, 'proxies' | 'settlements'>;
  /** If it is undefined, calls of Envoy's rate limit filter are not answered. */
  readonly rateLimits: RateLimits | undefined;
  /** If it is undefined, nobody can settle: `POST /settle` and access logs of Envoy are not answered. */
  readonly settle?: Settle | undefined;
  readonly arrivals: Arrivals;
}

export function createProxyServers(options: ProxyServersOptions) {
  const { environment, handleCheck, telemetry, rateLimits, settle, arrivals } = options;
  const { grpcPort, grpcTls: tls, socket } = environment;
  const callers = (port: PortName): CallerOptions => ({
    proxySecrets: environment.proxySecrets,
    onUnauthorized: telemetry.proxies.unauthorizedRefused,
    onConnectionFault: (error) => telemetry.proxies.connectionFailed(port, error),
  });
  let isLeaving = false;
  const checkServer = createCheckServer({
    dialects: HTTP_DIALECTS,
    handleCheck,
    callerWithoutAddress: socket === undefined ? '' : '127.0.0.1',
    ...callers('check'),
    isLeaving: () => isLeaving,
    settling: settle && {
      secrets: environment.settleSecrets,
      onRefused: telemetry.settlements.refused,
      answer: settleOverHttp(settle),
      atEndOfTurn: (job) => arrivals.atEndOfTurn(job),
    },
  });
  const grpcServer =
    grpcPort === undefined
      ? undefined
      : createGrpcServer({
          dialect: envoyGrpc,
          handleCheck,
          ...callers('grpc'),
          tls,
          services: rateLimits === undefined ? [] : [rateLimits.service],
          streamServices: settle === undefined ? [] : [accessLogService(settle)],
        });
  const jsonServer =
    rateLimits === undefined || environment.rateLimit?.httpPort === undefined
      ? undefined
      : createJsonServer({
          answer: rateLimits.service.answerJson,
          ...callers('json'),
          isHealthy: () => !isLeaving && rateLimits.isHealthy(),
        });
  return {
    async ready(): Promise<void> {
      await Promise.all([checkServer.ready(), jsonServer?.ready()]);
    },
    take(port: PortName, connection: Socket): void {
      if (port === 'check') checkServer.take(connection);
      else if (port === 'grpc') grpcServer?.take(connection);
      else jsonServer?.take(connection);
    },
    drain(): void {
      isLeaving = true;
      grpcServer?.drain();
    },
    /** Answers the checks under way, for so many milliseconds at most, and closes all connections. */
    async close(withinMs: number): Promise<void> {
      isLeaving = true;
      const servers = [checkServer, grpcServer, jsonServer];
      await Promise.all(servers.map((server) => server?.close(withinMs)));
    },
  };
}
