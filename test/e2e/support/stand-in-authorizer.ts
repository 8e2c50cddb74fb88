/** Allows every request, over HTTP and gRPC, with the token of the test: for what proxies do with it. */
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, type ServerReadableStream } from '@grpc/grpc-js';
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';
import { listenLocally } from '../../support/local-server.ts';

/** What Envoy's access log says about one request. */
export interface LoggedRequest {
  readonly token: string | undefined;
  readonly tokens: number | undefined;
  readonly details: string;
}

export interface StandInAuthorizer extends AsyncDisposable {
  /** Ports, for HTTP and gRPC. */
  readonly headgate: number;
  readonly grpc: number;
  /** Method and target of each request over HTTP, in order. */
  readonly targets: string[];
  /** From the access log over gRPC, in order. */
  readonly logged: LoggedRequest[];
  /** Sent with every allow, unless undefined. */
  token: string | undefined;
}

const DEPENDENCIES = fileURLToPath(
  new URL('../../../node_modules/@grpc/grpc-js-xds/deps/', import.meta.url),
);
const PROTOS = loadSync(
  ['envoy/service/auth/v3/external_auth.proto', 'envoy/service/accesslog/v3/als.proto'],
  {
    keepCase: true,
    includeDirs: ['envoy-api', 'googleapis', 'protoc-gen-validate', 'xds'].map(
      (folder) => DEPENDENCIES + folder,
    ),
  },
);
const serviceOf = (name: string) => PROTOS[name] as ServiceDefinition;

export async function startStandInAuthorizer(): Promise<StandInAuthorizer> {
  const targets: string[] = [];
  const logged: LoggedRequest[] = [];
  const standIn: { token: string | undefined } = { token: undefined };
  const http = await listenLocally(
    createServer((request, response) => {
      targets.push(`${request.method} ${request.url}`);
      const token = standIn.token === undefined ? {} : { 'X-Headgate-Settle': standIn.token };
      response.writeHead(200, { ...token, 'Content-Length': 0 }).end();
    }),
  );
  const server = new Server();
  server.addService(serviceOf('envoy.service.auth.v3.Authorization'), {
    Check: (_: unknown, answer: (error: null, message: object) => void) =>
      answer(null, allow(standIn.token)),
  });
  server.addService(serviceOf('envoy.service.accesslog.v3.AccessLogService'), {
    StreamAccessLogs: (stream: ServerReadableStream<LogMessage, object>) => {
      stream.on('data', (message) => logged.push(...requestsOf(message)));
      stream.on('error', () => {});
    },
  });
  const credentials = ServerCredentials.createInsecure();
  const grpc = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', credentials, (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  );
  return Object.assign(standIn, {
    headgate: http.port,
    grpc,
    targets,
    logged,
    [Symbol.asyncDispose]: async () => {
      server.forceShutdown();
      await http[Symbol.asyncDispose]();
    },
  });
}

function allow(token: string | undefined): object {
  if (token === undefined) return { status: { code: 0 }, ok_response: {} };
  const header = { key: 'x-headgate-settle', value: token };
  return {
    status: { code: 0 },
    ok_response: { headers: [{ header, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' }] },
    dynamic_metadata: { fields: { settle: { stringValue: token } } },
  };
}

interface LogMessage {
  readonly http_logs?: {
    readonly log_entry: readonly {
      readonly common_properties: {
        readonly metadata?: {
          readonly filter_metadata: Readonly<
            Record<string, { readonly fields: Readonly<Record<string, Value>> }>
          >;
        };
      };
      readonly response: { readonly response_code_details: string };
    }[];
  };
}

interface Value {
  readonly stringValue?: string;
  readonly numberValue?: number;
}

function requestsOf({ http_logs }: LogMessage): LoggedRequest[] {
  return (http_logs?.log_entry ?? []).map(({ common_properties: { metadata }, response }) => {
    const found = (namespace: string, key: string) =>
      metadata?.filter_metadata[namespace]?.fields[key];
    return {
      token: found('envoy.filters.http.ext_authz', 'settle')?.stringValue,
      tokens: found('headgate', 'tokens')?.numberValue,
      details: response.response_code_details,
    };
  });
}
