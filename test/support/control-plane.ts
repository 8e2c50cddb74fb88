/**
 * A control plane for rate limits, on the gRPC library of Node with Envoy's definitions of the discovery messages. It does
 * what those made with go-control-plane do (v0.14.1, pkg/server/sotw/v3/xds.go and pkg/cache/v3/simple.go), Envoy Gateway
 * among them:
 * - A request without resource names wants all resources of the node.
 * - A request with another version than that of the node's snapshot is answered at once, a NACK too.
 * - Other requests, and those for nodes without a snapshot, are answered when there is a new snapshot.
 * - A request without the nonce of the last response is ignored.
 */
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, type ServerDuplexStream, status } from '@grpc/grpc-js';
import { fromJSON, loadSync, type ServiceDefinition } from '@grpc/proto-loader';
import { messageOf } from './grpc-client.ts';
import { RATE_LIMIT_PROTO } from './rate-limit-proto.ts';

export const RATE_LIMIT_TYPE = 'type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig';
export const NODE_ID = 'envoy-ratelimit';

const DEPENDENCIES = fileURLToPath(
  new URL('../../node_modules/@grpc/grpc-js-xds/deps/', import.meta.url),
);
export const DISCOVERY_PROTOS = loadSync('envoy/service/discovery/v3/ads.proto', {
  keepCase: true,
  defaults: true,
  includeDirs: ['envoy-api', 'googleapis', 'protoc-gen-validate', 'xds'].map(
    (folder) => DEPENDENCIES + folder,
  ),
});
const ADS = DISCOVERY_PROTOS[
  'envoy.service.discovery.v3.AggregatedDiscoveryService'
] as ServiceDefinition;
const CONFIG = messageOf(
  fromJSON(RATE_LIMIT_PROTO, { keepCase: true }),
  'ratelimit.config.ratelimit.v3.RateLimitConfig',
);
const RESPONSE = messageOf(DISCOVERY_PROTOS, 'envoy.service.discovery.v3.DiscoveryResponse');
const REQUEST = messageOf(DISCOVERY_PROTOS, 'envoy.service.discovery.v3.DiscoveryRequest');

/** As far as tests look at it. */
export interface DiscoveryRequest {
  readonly version_info: string;
  readonly node: { readonly id: string; readonly metadata: object | null } | null;
  readonly resource_names: readonly string[];
  readonly type_url: string;
  readonly response_nonce: string;
  readonly error_detail: { readonly message: string } | null;
}

export interface Resource {
  readonly type_url: string;
  readonly value: Uint8Array;
}

export const configBytes = (config: object): Buffer => CONFIG.serialize(config);
export const resourceOf = (config: object): Resource => ({
  type_url: RATE_LIMIT_TYPE,
  value: configBytes(config),
});
export const responseBytes = (response: object): Buffer => RESPONSE.serialize(response);
export const readRequest = (bytes: Buffer) => REQUEST.deserialize(bytes) as DiscoveryRequest;

/** A response that is well formed, with one configuration. */
export const RESPONSE_WITH_LIMITS = {
  version_info: '1',
  type_url: RATE_LIMIT_TYPE,
  nonce: 'a',
  resources: [resourceOf(limits('shop', 3))],
};

/** A `RateLimitConfig` with one limit per hour. */
export function limits(domain: string, requests_per_unit: number): object {
  const rate_limit = { unit: 'HOUR', requests_per_unit };
  return { name: domain, domain, descriptors: [{ key: 'client', rate_limit }] };
}

interface Snapshot {
  readonly version: string;
  readonly resources: readonly Resource[];
}

type Call = ServerDuplexStream<DiscoveryRequest, object>;

export interface ControlPlane extends AsyncDisposable {
  readonly port: number;
  /** All requests so far, of all streams. */
  readonly requests: readonly DiscoveryRequest[];
  /** Metadata of the streams so far. */
  readonly metadata: readonly Readonly<Record<string, unknown>>[];
  /** Sets the snapshot of the node `envoy-ratelimit`. */
  serve(version: string, resources: readonly Resource[]): void;
  /** Sends the snapshot to all streams, although no request waits for it. */
  push(): void;
  /** The first request that is as wanted, among those so far or later. */
  request(wanted: (request: DiscoveryRequest) => boolean): Promise<DiscoveryRequest>;
  /** Ends all streams with the status UNAVAILABLE. */
  endStreams(): void;
}

export interface ControlPlaneOptions {
  readonly port?: number;
  readonly credentials?: ServerCredentials;
}

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { port = 0, credentials = ServerCredentials.createInsecure() } = options;
  const plane = new RunningControlPlane();
  await plane.listen(port, credentials);
  return plane;
}

class Stream {
  readonly #call: Call;
  #nonce = 0;
  #waiting: DiscoveryRequest | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  take(request: DiscoveryRequest, snapshot: Snapshot | undefined): void {
    const isStale = this.#nonce > 0 && request.response_nonce !== String(this.#nonce);
    if (isStale) return;
    this.#waiting = request;
    this.offer(snapshot);
  }

  offer(snapshot: Snapshot | undefined): void {
    if (this.#waiting?.node?.id !== NODE_ID || snapshot === undefined) return;
    if (this.#waiting.version_info === snapshot.version) return;
    this.send(snapshot);
  }

  send({ version, resources }: Snapshot): void {
    this.#waiting = undefined;
    const nonce = String(++this.#nonce);
    this.#call.write({ version_info: version, resources, type_url: RATE_LIMIT_TYPE, nonce });
  }

  end(): void {
    this.#call.emit('error', { code: status.UNAVAILABLE, details: 'the snapshot is being made' });
  }
}

class RunningControlPlane implements ControlPlane {
  port = 0;
  readonly requests: DiscoveryRequest[] = [];
  readonly metadata: Readonly<Record<string, unknown>>[] = [];
  readonly #server = new Server();
  readonly #streams = new Set<Stream>();
  readonly #received = new EventTarget();
  #snapshot: Snapshot | undefined;

  async listen(port: number, credentials: ServerCredentials): Promise<void> {
    this.#server.addService(ADS, {
      StreamAggregatedResources: (call: Call) => this.#open(call),
      DeltaAggregatedResources: (call: Call) => void call.destroy(),
    });
    this.port = await new Promise((resolve, reject) => {
      const listening = (error: Error | null, bound: number) =>
        error === null ? resolve(bound) : reject(error);
      this.#server.bindAsync(`127.0.0.1:${port}`, credentials, listening);
    });
  }

  serve(version: string, resources: readonly Resource[]): void {
    this.#snapshot = { version, resources };
    for (const stream of this.#streams) stream.offer(this.#snapshot);
  }

  push(): void {
    if (this.#snapshot === undefined) throw new Error('there is no snapshot to push');
    for (const stream of this.#streams) stream.send(this.#snapshot);
  }

  async request(wanted: (request: DiscoveryRequest) => boolean): Promise<DiscoveryRequest> {
    for (;;) {
      const found = this.requests.find(wanted);
      if (found !== undefined) return found;
      await once(this.#received, 'request');
    }
  }

  endStreams(): void {
    for (const stream of this.#streams) stream.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
  }

  #open(call: Call): void {
    const stream = new Stream(call);
    this.#streams.add(stream);
    this.metadata.push(call.metadata.getMap());
    const close = () => this.#streams.delete(stream);
    call.on('error', close).on('close', close).on('cancelled', close);
    call.on('end', () => call.end());
    call.on('data', (request: DiscoveryRequest) => {
      this.requests.push(request);
      stream.take(request, this.#snapshot);
      this.#received.dispatchEvent(new Event('request'));
    });
  }
}
