/** A gateway that answers Envoy's rate limit filter, and calls to it with the message definitions of Envoy. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, credentials } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts';
import { messageOf, type Reply, type Sent, unary } from './grpc-client.ts';

const PROTOS = loadSync(
  fileURLToPath(new URL('../fixtures/ratelimit/rls.proto', import.meta.url)),
  { keepCase: true, enums: String, longs: Number, defaults: true },
);
const REQUEST = messageOf(PROTOS, 'tests.Request');
const RESPONSE = messageOf(PROTOS, 'tests.Response');
const SHOULD_RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

export interface RateLimitResponse {
  readonly overall_code: string;
  readonly statuses: readonly {
    readonly code: string;
    readonly current_limit: { requests_per_unit: number; unit: string; name: string } | null;
    readonly limit_remaining: number;
    readonly duration_until_reset: { seconds: number } | null;
  }[];
  readonly response_headers_to_add: readonly { key: string; value: string }[];
  readonly raw_body: Buffer;
  readonly dynamic_metadata: object | null;
}

export const requestBytes = (request: object): Buffer => REQUEST.serialize(request);
const readResponse = (bytes: Buffer): RateLimitResponse =>
  RESPONSE.deserialize(bytes) as RateLimitResponse;

export interface RateLimitClient extends Disposable {
  /** `request`: a RateLimitRequest. */
  ask(request: object, headers?: Sent): Promise<Reply<RateLimitResponse>>;
  send(bytes: Buffer, headers?: Sent): Promise<Reply<RateLimitResponse>>;
}

export function connectRateLimit(
  port: number,
  ssl = credentials.createInsecure(),
): RateLimitClient {
  const client = new Client(`127.0.0.1:${port}`, ssl, {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    'grpc.ssl_target_name_override': 'localhost',
  });
  const send = (bytes: Buffer, headers?: Sent) =>
    unary(client, SHOULD_RATE_LIMIT, bytes, readResponse, headers);
  return {
    send,
    ask: (request, headers) => send(requestBytes(request), headers),
    [Symbol.dispose]: () => client.close(),
  };
}

/** `path=/login user=a` as a descriptor. */
export function descriptor(entries: Readonly<Record<string, string>>, rest: object = {}): object {
  return { entries: Object.entries(entries).map(([key, value]) => ({ key, value })), ...rest };
}

export interface RateLimitGateway extends Gateway {
  readonly client: RateLimitClient;
  /** Of `/json` and `/healthcheck`. */
  readonly jsonUrl: string;
  /** The file with the rules. */
  readonly file: string;
}

/** `rules`: the text of a rate limit file. */
export async function startRateLimitGateway(
  rules: string,
  env: NodeJS.ProcessEnv = {},
  options: GatewayOptions = {},
): Promise<RateLimitGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-ratelimit-'));
  const file = join(folder, 'rules.yaml');
  writeFileSync(file, rules);
  const settings = {
    HEADGATE_PORT: 'off',
    HEADGATE_GRPC_PORT: '0',
    HEADGATE_RATELIMIT_CONFIG: folder,
    HEADGATE_RATELIMIT_HTTP_PORT: '0',
    ...env,
  };
  const gateway = await startGateway(settings, options);
  const client = connectRateLimit(gateway.grpcPort);
  const jsonUrl = /json +(http:\S+)\/json/.exec(gateway.output())?.[1] ?? '';
  return {
    ...gateway,
    client,
    jsonUrl,
    file,
    [Symbol.asyncDispose]: async () => {
      client[Symbol.dispose]();
      await gateway.stop();
      rmSync(folder, { recursive: true });
    },
  };
}
