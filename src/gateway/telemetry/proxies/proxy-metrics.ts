/** Metrics of proxies: what they send, leave out, or may not send. */
import { Counter, Gauge, type Registry } from 'prom-client';

export function createProxyMetrics(registers: Registry[]) {
  return {
    misconfigured: new Counter({
      name: 'headgate_misconfigured_requests_total',
      help: 'Checks without headers that the proxy must send.',
      labelNames: ['dialect'],
      registers,
    }),
    unseenHeaders: new Gauge({
      name: 'headgate_header_unseen',
      help: '1 while none of at least 1,000 requests through a proxy had a header that the policy file needs, 0 once one has it. With several workers, how many of them report it.',
      labelNames: ['dialect', 'header'],
      registers,
    }),
    seenHeaders: new Gauge({
      name: 'headgate_header_seen',
      help: '1 once a request through a proxy had a header that the policy file needs, until another policy file is loaded.',
      labelNames: ['dialect', 'header'],
      aggregator: 'max',
      registers,
    }),
    unknownPolicies: new Counter({
      name: 'headgate_unknown_policy_total',
      help: 'Checks that name a policy which does not exist.',
      registers,
    }),
    untrusted: new Counter({
      name: 'headgate_untrusted_proxy_requests_total',
      help: 'Checks from a proxy outside identity.trusted_proxies.',
      registers,
    }),
    ignoredHeaders: new Counter({
      name: 'headgate_untrusted_header_total',
      help: 'Headers that were ignored: their sender may not set them, or they do not hold one address.',
      labelNames: ['header'],
      registers,
    }),
    connectionFaults: new Counter({
      name: 'headgate_connection_faults_total',
      help: 'Connections that headgate closed because of a fault in the code that reads or writes them, with all requests on them. headgate_check_faults_total counts single checks that were answered 500.',
      labelNames: ['port'],
      registers,
    }),
    unauthorized: new Counter({
      name: 'headgate_strangers_refused_total',
      help: 'Calls without the secret that proxies share with the gateway.',
      registers,
    }),
  };
}
