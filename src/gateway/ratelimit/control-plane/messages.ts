/**
 * The field numbers are those of envoy/service/discovery/v3/discovery.proto, envoy/config/core/v3/base.proto,
 * google/rpc/status.proto and google/protobuf/{any,struct}.proto.
 */
import { type Fields, readMessage, text } from '../../protobuf/reader.ts';
import { messageField, textField } from '../../protobuf/writer.ts';

/** The type of the resources for a rate limit service (go-control-plane v0.14.0, pkg/resource/v3/resource.go). */
export const RATE_LIMIT_CONFIG =
  'type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig';

/** The name of this client. A control plane may give each node another configuration. */
export interface Node {
  /** Envoy Gateway 1.9.1 serves only `envoy-ratelimit` (internal/globalratelimit/runner/runner.go, addNewSnapshot). */
  readonly id: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface Received {
  readonly version: string;
  /** The nonce of the last response on this stream; empty before the first. */
  readonly nonce: string;
  /** Why the last response was refused. Undefined: it was accepted. */
  readonly refusal?: string | undefined;
}

export const NOTHING_RECEIVED: Received = { version: '', nonce: '' };

export interface DiscoveryResponse {
  version: string;
  nonce: string;
  typeUrl: string;
  readonly resources: Resource[];
}

export interface Resource {
  typeUrl: string;
  /** A view of the response. */
  value: Buffer;
}

/** The request names no resources, so the control plane sends all. Returns the bytes, one per character. */
export function writeDiscoveryRequest(node: Node, received: Received): string {
  const { version, nonce, refusal } = received;
  return (
    textUnlessEmpty(1, version) +
    messageField(2, nodeFields(node)) +
    textField(4, RATE_LIMIT_CONFIG) +
    textUnlessEmpty(5, nonce) +
    (refusal === undefined ? '' : messageField(6, textField(2, refusal)))
  );
}

function textUnlessEmpty(field: number, text: string): string {
  return text === '' ? '' : textField(field, text);
}

function nodeFields({ id, metadata = {} }: Node): string {
  const entries = Object.entries(metadata).map(([key, value]) =>
    messageField(1, textField(1, key) + messageField(2, textField(3, value))),
  );
  return textField(1, id) + messageField(3, entries.join(''));
}

const ANY: Fields<Resource> = {
  1: text('typeUrl'),
  2: (reader, resource) => {
    resource.value = reader.bytes();
  },
};

const DISCOVERY_RESPONSE: Fields<DiscoveryResponse> = {
  1: text('version'),
  2: (reader, { resources }) => {
    resources.push(reader.message(ANY, { typeUrl: '', value: Buffer.alloc(0) }));
  },
  4: text('typeUrl'),
  5: text('nonce'),
};

/** Throws MalformedMessage. */
export function readDiscoveryResponse(bytes: Buffer): DiscoveryResponse {
  const response: DiscoveryResponse = { version: '', nonce: '', typeUrl: '', resources: [] };
  readMessage(bytes, DISCOVERY_RESPONSE, response);
  return response;
}
