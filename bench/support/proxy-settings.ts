/**
 * Real proxies with the files of deploy/, as benchmarks run them.
 *
 * The files differ from the shipped ones only in this: ports, time-outs (ten seconds, so that no check is given up), the
 * load balancer is trusted, a failed check refuses its request, NGINX writes no access log, and the proxy itself answers
 * in place of an application.
 */
import { networkInterfaces } from 'node:os';
import {
  type Behind,
  type RunningProgram,
  startEnvoy,
  startEnvoyGrpc,
  startEnvoyRateLimit,
  startNginx,
} from '../../test/support/proxies.ts';

/** How a proxy runs in front of a service that decides. */
export interface ProxySetting {
  /** The service of rivals/ that does nothing; without it there is none for this filter. */
  readonly empty?: string;
  readonly start: (behind: Behind) => Promise<RunningProgram>;
  readonly changes: Readonly<Record<string, string>>;
  /** What turns the checks off. */
  readonly withoutChecks?: Readonly<Record<string, string>>;
  readonly hasShippedTimeouts?: boolean;
  /** The status of a request whose check was late. */
  readonly refusedAs?: number;
}

export type ProxySettings = Readonly<Record<string, ProxySetting>>;

/** The address of the driver, which the proxies trust as a load balancer. */
export const BALANCER = addressOfThisMachine();

const EMPTY_HTTP = 'rivals/empty-http.ts';
const EMPTY_GRPC = 'rivals/empty-http2.ts';

const ENVOY_ROUTE =
  '- match: { prefix: / }\n                          route: { cluster: application }';
const ENVOY_ANSWER =
  '- match: { prefix: / }\n                          direct_response: { status: 200 }';
const ENVOY_CHANGES = {
  [ENVOY_ROUTE]: ENVOY_ANSWER,
  '#   xff_num_trusted_hops: 1': 'xff_num_trusted_hops: 1',
  'failure_mode_allow: true': 'failure_mode_allow: false',
};
const ENVOY_WITHOUT_CHECKS = {
  [ENVOY_ROUTE]: `${ENVOY_ANSWER}
                          typed_per_filter_config:
                            headgate.ext_authz:
                              "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute
                              disabled: true`,
};
const OVER_HTTP = { empty: EMPTY_HTTP, start: startEnvoy, changes: ENVOY_CHANGES };
const OVER_GRPC = { empty: EMPTY_GRPC, start: startEnvoyGrpc, changes: ENVOY_CHANGES };

export const ENVOY: ProxySettings = {
  HTTP: { ...OVER_HTTP, withoutChecks: ENVOY_WITHOUT_CHECKS },
  gRPC: OVER_GRPC,
};

const DEADLINE = {
  changes: { ...ENVOY_CHANGES, 'timeout: 0.2s': 'timeout: 0.02s' },
  hasShippedTimeouts: true,
  refusedAs: 503,
};

/** Envoy with its default time-out of 20 ms. */
export const ENVOY_WITH_DEADLINE: ProxySettings = {
  HTTP: { ...OVER_HTTP, ...DEADLINE },
  gRPC: { ...OVER_GRPC, ...DEADLINE },
  'rate limit service': {
    start: startEnvoyRateLimit,
    // Envoy does not ask about routes that it answers itself, so here an application answers.
    changes: {
      'timeout: 0.1s\n                      rate': 'timeout: 0.02s\n                      rate',
      'failure_mode_deny: false': 'failure_mode_deny: true',
    },
    hasShippedTimeouts: true,
    refusedAs: 500,
  },
};

export const NGINX: ProxySettings = {
  NGINX: {
    empty: EMPTY_HTTP,
    start: startNginx,
    changes: {
      // `return` would answer before the check.
      'proxy_pass http://application;': 'empty_gif; access_log off;',
      '#set_real_ip_from 10.0.0.0/8; ': `set_real_ip_from ${BALANCER}; `,
      'error_page 500 502 503 504 =204 @headgate_unavailable;': '',
    },
    withoutChecks: {
      'auth_request /_headgate;': 'auth_request off; uninitialized_variable_warn off;',
    },
  },
};

/** Of a network: clients with a loopback address may not say that they are a load balancer. */
function addressOfThisMachine(): string {
  const all = Object.values(networkInterfaces()).flatMap((each = []) => each);
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (found === undefined) throw new Error('this machine has only loopback addresses');
  return found.address;
}
