/**
 * Sends checks over gRPC as Envoy does, with the message definitions of Envoy; those of headgate are an excerpt.
 */
import { fileURLToPath } from 'node:url';
import {
  Client,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync, type MessageTypeDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import { service as healthService } from 'grpc-health-check';
import { CHECK } from './grpc-frames.ts';

const DEPENDENCIES = fileURLToPath(
  new URL('../../node_modules/@grpc/grpc-js-xds/deps/', import.meta.url),
);
export const PROTO_FOLDERS = ['envoy-api', 'googleapis', 'protoc-gen-validate', 'xds'].map(
  (folder) => DEPENDENCIES + folder,
);

export const ENVOY_PROTOS = loadSync('envoy/service/auth/v3/external_auth.proto', {
  keepCase: true,
  includeDirs: PROTO_FOLDERS,
});

export type Protos = typeof ENVOY_PROTOS;

export function messageOf(protos: Protos, name: string): MessageTypeDefinition<object, object> {
  const found = protos[name];
  if (found === undefined || !isMessage(found)) throw new Error(`no message is called ${name}`);
  return found;
}

function isMessage(found: Protos[string]): found is MessageTypeDefinition<object, object> {
  return found.format === 'Protocol Buffer 3 DescriptorProto';
}

/** Envoy's `CheckResponse`, as far as headgate fills it. */
export interface EnvoyCheckResponse {
  readonly status: { readonly code: number };
  readonly ok_response?: {
    readonly headers?: readonly HeaderValueOption[];
    readonly headers_to_remove?: readonly string[];
    readonly response_headers_to_add: readonly HeaderValueOption[];
  };
  readonly dynamic_metadata?: { readonly fields: object };
  readonly denied_response?: {
    readonly status: { readonly code: number };
    readonly headers: readonly HeaderValueOption[];
    readonly body: string;
  };
}

interface HeaderValueOption {
  readonly header: { readonly key: string; readonly value: string };
  readonly append_action?: number;
}

const CHECK_REQUEST = messageOf(ENVOY_PROTOS, 'envoy.service.auth.v3.CheckRequest');
const CHECK_RESPONSE = messageOf(ENVOY_PROTOS, 'envoy.service.auth.v3.CheckResponse');

/** The message as Envoy writes it. */
export const checkRequestBytes = (request: object): Buffer => CHECK_REQUEST.serialize(request);
/** The message as Envoy reads it. */
const readCheckResponse = (bytes: Buffer): EnvoyCheckResponse =>
  CHECK_RESPONSE.deserialize(bytes) as EnvoyCheckResponse;

/** The same for a message that headgate wrote: a string with one character for each byte. */
export const readWrittenResponse = (message: string): EnvoyCheckResponse =>
  readCheckResponse(Buffer.from(message, 'latin1'));

/** Either a message or, with a code other than OK, what went wrong. */
export interface Reply<Message> {
  readonly code: status;
  readonly details: string;
  readonly message: Message | undefined;
}

export type CheckReply = Reply<EnvoyCheckResponse>;
export type Sent = Readonly<Record<string, string | readonly string[]>>;

export interface GrpcClient extends Disposable {
  check(request: object, metadata?: Sent): Promise<CheckReply>;
  /** Any bytes in place of a CheckRequest, to any method. */
  send(bytes: Uint8Array, path?: string): Promise<CheckReply>;
  health(service?: string): Promise<Reply<Health>>;
  /** The health of each service. */
  listHealth(): Promise<Reply<Readonly<Record<string, Health>>>>;
  watchHealth(service?: string): ClientReadableStream<Health>;
}

interface Health {
  readonly status: string;
}

interface HealthList {
  readonly statuses: Readonly<Record<string, Health>>;
}

/** Opens a new connection. */
export function connectGrpc(
  port: number,
  options: ClientOptions = {},
  ssl = credentials.createInsecure(),
): GrpcClient {
  const client = new Client(`127.0.0.1:${port}`, ssl, {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    ...options,
  });
  const { Check, List, Watch } = healthService as HealthService;
  return {
    check: (request, metadata) => {
      return unary(client, CHECK, checkRequestBytes(request), readCheckResponse, metadata);
    },
    send: (bytes, path = CHECK) => unary(client, path, bytes, readCheckResponse),
    health: (service = '') => {
      const bytes = Check.requestSerialize({ service });
      return unary(client, Check.path, bytes, (it) => Check.responseDeserialize(it) as Health);
    },
    listHealth: async () => {
      const bytes = List.requestSerialize({});
      const decode = (it: Buffer) => List.responseDeserialize(it) as HealthList;
      const { message, ...reply } = await unary(client, List.path, bytes, decode);
      return { ...reply, message: message?.statuses };
    },
    watchHealth: (service = '') => {
      const { path, requestSerialize, responseDeserialize } = Watch;
      const answer = (bytes: Buffer) => responseDeserialize(bytes) as Health;
      return client.makeServerStreamRequest(path, requestSerialize, answer, { service });
    },
    [Symbol.dispose]: () => client.close(),
  };
}

type HealthService = ServiceDefinition &
  Record<'Check' | 'List' | 'Watch', ServiceDefinition[string]>;

const PATIENCE_MS = 30_000;

/** Sends these bytes to a method. */
export function unary<Message>(
  client: Client,
  path: string,
  bytes: Uint8Array,
  decode: (bytes: Buffer) => Message,
  sent: Sent = {},
): Promise<Reply<Message>> {
  const metadata = new Metadata();
  for (const [name, values] of Object.entries(sent)) {
    for (const value of [values].flat()) metadata.add(name, value);
  }
  const asIs = (given: Uint8Array) => Buffer.from(given);
  return new Promise((resolve) => {
    const take = (error: ServiceError | null, message?: Message) => {
      resolve({ code: error?.code ?? status.OK, details: error?.details ?? '', message });
    };
    const deadline = Date.now() + PATIENCE_MS;
    client.makeUnaryRequest(path, asIs, decode, bytes, metadata, { deadline }, take);
  });
}

export interface HttpAttributes {
  readonly method?: string;
  readonly path?: string;
  readonly host?: string;
  /** The address that connected to Envoy. */
  readonly peer?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the headers, with encode_raw_headers. */
  readonly rawHeaders?: readonly (readonly [string, Uint8Array])[];
  readonly contextExtensions?: Readonly<Record<string, string>>;
}

/** A check as Envoy sends it. headgate skips most of the fields. */
export function envoyCheckRequest(attributes: HttpAttributes = {}): { attributes: object } {
  const {
    method = 'GET',
    path = '/',
    host = 'api.example.com',
    peer = '198.51.100.1',
  } = attributes;
  const { headers = {}, rawHeaders, contextExtensions = {} } = attributes;
  const header_map = rawHeaders && {
    headers: rawHeaders.map(([key, raw_value]) => ({ key, raw_value })),
  };
  return {
    attributes: {
      source: peerAt(peer, 41_234),
      destination: peerAt('192.0.2.80', 443),
      request: {
        time: { seconds: 1_795_262_400, nanos: 123_456_000 },
        http: {
          id: '8241063907420719352',
          method,
          ...(header_map === undefined ? { headers } : { header_map }),
          path,
          host,
          scheme: 'https',
          protocol: 'HTTP/2',
          size: -1,
        },
      },
      context_extensions: contextExtensions,
      metadata_context: { filter_metadata: {} },
      route_metadata_context: {},
    },
  };
}

function peerAt(address: string, port_value: number): object {
  return { address: { socket_address: { address, port_value } } };
}

/** The headers of an answer by their names in lower case; each must be there once. */
export function responseHeadersOf({
  ok_response,
  denied_response,
}: EnvoyCheckResponse): Record<string, string> {
  const found = ok_response?.response_headers_to_add ?? denied_response?.headers ?? [];
  const names = found.map(({ header }) => header.key.toLowerCase());
  if (new Set(names).size !== names.length) throw new Error(`a header appears twice: ${names}`);
  return Object.fromEntries(found.map(({ header }, i) => [names[i], header.value]));
}
