import { envoyRegions, listenerEdits, socketAddress } from './envoy-regions.ts';
import type { Edits, Writer } from './writer.ts';

/** Envoy sends these without being told to. */
const ALWAYS_SENT = ['authorization'];

/** The last address of X-Forwarded-For is the client's. The load balancer has written it. */
const ONE_HOP: Edits = {
  'use_remote_address: true': 'use_remote_address: true\n                xff_num_trusted_hops: 1',
};

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
  listener: { file: 'envoy/envoy.yaml', edits: listenerEdits },
  front: (front) => (front.kind === 'cloudflare' ? {} : { 'envoy/envoy.yaml': ONE_HOP }),
  regions: (input) => envoyRegions(input, ALWAYS_SENT),
};
