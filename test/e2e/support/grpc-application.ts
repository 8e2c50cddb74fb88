/** An application of gRPC with one method, how Envoy reaches it, and a client. */
import {
  Client,
  credentials,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServiceError,
} from '@grpc/grpc-js';
import type { RunningProxy } from '../../support/proxies.ts';

const CLUSTER = '      connect_timeout: 1s\n';
/** A change of the files for Envoy: the application speaks HTTP/2 only. */
export const HTTP_2 = {
  [CLUSTER]: `${CLUSTER}      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: { http2_protocol_options: {} }
`,
};

const bytes = (value: Buffer) => value;
const ORDER: MethodDefinition<Buffer, Buffer> = {
  path: '/shop.Orders/Order',
  requestStream: false,
  responseStream: false,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
};
export const ORDER_PATH = ORDER.path;

type Reply = (error: null, value: Buffer) => void;
const DONE = Buffer.from('done');

export interface GrpcApplication extends Disposable {
  readonly port: number;
}

export async function startGrpcApplication(): Promise<GrpcApplication> {
  const server = new Server();
  server.addService({ order: ORDER }, { order: (_: unknown, reply: Reply) => reply(null, DONE) });
  const port = await new Promise<number>((resolve, reject) => {
    const local = ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', local, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { port, [Symbol.dispose]: () => server.forceShutdown() };
}

export interface GrpcCaller extends Disposable {
  /** What the client gets: `done`, or the error. */
  order(): Promise<string | ServiceError>;
}

export function grpcCaller(proxy: Pick<RunningProxy, 'url'>): GrpcCaller {
  const client = new Client(new URL(proxy.url).host, credentials.createInsecure());
  return {
    order: () =>
      new Promise((resolve) => {
        client.makeUnaryRequest(ORDER.path, bytes, bytes, Buffer.from('one'), (error, value) =>
          resolve(error ?? String(value)),
        );
      }),
    [Symbol.dispose]: () => client.close(),
  };
}
