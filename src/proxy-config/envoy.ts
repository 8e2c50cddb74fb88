import { envoyRegions, socketAddress } from './envoy-regions.ts';
import type { Writer } from './writer.ts';

/** Envoy sends these without being told to. */
const ALWAYS_SENT = ['authorization'];

export const envoy: Writer = {
  file: 'envoy/envoy.yaml',
  besides: [],
  gateway: {
    shipped: 'socket_address: { address: 127.0.0.1, port_value: 8080 }',
    write: socketAddress,
  },
  application: {
    shipped: 'socket_address: { address: 127.0.0.1, port_value: 3000 }',
    write: socketAddress,
  },
  regions: (input) => envoyRegions(input, ALWAYS_SENT),
};
