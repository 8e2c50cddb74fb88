/**
 * Load over gRPC. Closed loop: on each connection as many calls at a time as a thread of a busy Envoy would have. With a
 * rate, an open loop: calls are sent at that rate, and their latency counts from the moment when they were due.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkRequestBytes } from '../../test/support/grpc-client.ts';
import { CHECK } from '../../test/support/grpc-frames.ts';
import {
  CHECK_REQUEST,
  ONE_DESCRIPTOR,
  RATE_LIMIT_DOMAIN,
  rateLimitRequestBytes,
  SHOULD_RATE_LIMIT,
} from './grpc-messages.ts';
import type { Applied, Load } from './load.ts';
import type { ReportedOutcome } from './settle-load.ts';

export interface GrpcDriverOptions {
  readonly port: number;
  readonly seconds: number;
  readonly clients: number;
  readonly connections: number;
  /** Calls at a time on each connection. */
  readonly streams: number;
  readonly service: 'check' | 'rateLimit';
  readonly path: string;
  /** In base64. */
  readonly message: string;
  /** What every answer must be. */
  readonly expects: 'allow' | 'deny';
  /** Only of an open loop: then `streams` means nothing. */
  readonly requestsPerSecond?: number | undefined;
  /** Each check is reported by Envoy's access log with this outcome. */
  readonly outcome?: ReportedOutcome | undefined;
}

export type GrpcLoad = Pick<GrpcDriverOptions, 'clients'> &
  Partial<
    Pick<
      GrpcDriverOptions,
      'service' | 'expects' | 'connections' | 'streams' | 'requestsPerSecond' | 'outcome'
    >
  > & {
    /** Without it, the service has a default one. */
    readonly message?: Buffer;
  };

const GRPC_CONNECTIONS = 2;
const GRPC_STREAMS = 32;

const DRIVER = fileURLToPath(new URL('grpc-driver.ts', import.meta.url));
const SERVICES = {
  check: { path: CHECK, message: checkRequestBytes(CHECK_REQUEST) },
  rateLimit: {
    path: SHOULD_RATE_LIMIT,
    message: rateLimitRequestBytes(RATE_LIMIT_DOMAIN, ONE_DESCRIPTOR),
  },
};

export function grpcLoad(load: GrpcLoad): Load {
  const { clients, service = 'check', expects = 'allow' } = load;
  const { path, message: usual } = SERVICES[service];
  const { message = usual, connections = GRPC_CONNECTIONS, streams = GRPC_STREAMS } = load;
  return async ({ grpcPort }, seconds): Promise<Applied> => {
    const options: GrpcDriverOptions = {
      port: grpcPort,
      seconds,
      clients,
      connections,
      streams,
      requestsPerSecond: load.requestsPerSecond,
      outcome: load.outcome,
      service,
      path,
      message: message.toString('base64'),
      expects,
    };
    const { stdout } = await promisify(execFile)(process.execPath, [
      DRIVER,
      JSON.stringify(options),
    ]);
    return JSON.parse(stdout);
  };
}
