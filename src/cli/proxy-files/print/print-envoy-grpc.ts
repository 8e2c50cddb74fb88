import { envoyRegions, listenerEdits, socketAddress } from './envoy-regions.ts';
import type { Writer } from './writer.ts';

/** Listed in the shipped file, outside of its regions. */
const ALWAYS_SENT = ['authorization', 'x-forwarded-for', 'x-request-id'];

export const envoyGrpc: Writer = {
  file: 'envoy/envoy-grpc.yaml',
  besides: [],
  grpc: true,
  gateway: {
    shipped: 'socket_address: { address: 127.0.0.1, port_value: 8081 }',
    write: socketAddress,
  },
  application: {
    shipped: 'socket_address: { address: 127.0.0.1, port_value: 3000 }',
    write: socketAddress,
  },
  listener: { file: 'envoy/envoy-grpc.yaml', edits: listenerEdits },
  regions: (input) => envoyRegions(input, ALWAYS_SENT),
};
