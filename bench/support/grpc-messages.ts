/** Messages of gRPC services that decide: requests with places for a client and an id, and the answer of no-ops. */
import { field, frame } from '../../test/support/grpc-frames.ts';

/** Every client has an address of this length: `10.` and three numbers from 100 to 199. */
export const CLIENT_PLACE = '10.100.100.100';
/** Envoy makes a new id for each request. Its last twelve digits are replaced. */
export const ID_PLACE = '2faf95ab-a564-4ff1-9dee-000000000000';

/** A CheckResponse with the status OK and an `ok_response` without headers. */
const EMPTY_OK_MESSAGE = Buffer.concat([field(1), field(3)]);
export const EMPTY_OK = frame(EMPTY_OK_MESSAGE);

/** A CheckRequest, field by field as Envoy 1.40 sent it with deploy/envoy/envoy-grpc.yaml. */
export const CHECK_REQUEST = {
  attributes: {
    source: { address: { socket_address: { address: CLIENT_PLACE, port_value: 38_980 } } },
    destination: { address: { socket_address: { address: '127.0.0.1', port_value: 18_620 } } },
    request: {
      time: { seconds: 1_795_367_548, nanos: 926_390_000 },
      http: {
        id: '5144211307142964715',
        method: 'GET',
        headers: { 'x-request-id': ID_PLACE, 'x-forwarded-for': CLIENT_PLACE },
        path: '/api/items?id=1',
        host: 'api.example.com',
        scheme: 'http',
        protocol: 'HTTP/1.1',
      },
    },
    context_extensions: { request_id: 'x-request-id' },
    metadata_context: {},
    route_metadata_context: {},
  },
};

export const RATE_LIMIT_DOMAIN = 'bench';
export const RATE_LIMIT_KEY = 'remote_address';
export const SHOULD_RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

const text = (number: number, value: string) => field(number, Buffer.from(value));

/** A descriptor of a RateLimitRequest: its keys and values. */
export type DescriptorEntries = Readonly<Record<string, string>>;

export const ONE_DESCRIPTOR: readonly DescriptorEntries[] = [{ [RATE_LIMIT_KEY]: CLIENT_PLACE }];

export function rateLimitRequestBytes(
  domain: string,
  descriptors: readonly DescriptorEntries[],
): Buffer {
  const written = descriptors.map((entries) =>
    field(
      2,
      ...Object.entries(entries).map(([key, value]) => field(1, text(1, key), text(2, value))),
    ),
  );
  return Buffer.concat([text(1, domain), ...written]);
}
