import type { UnseenHeader } from '../core/header-watch.ts';
import type { TelemetryContext } from './context.ts';
import { DIALECT, ERROR, LONGEST_NAME, type LogLines, ONE_A_MINUTE } from './log/log-line.ts';
import type { MetricRows } from './metrics.ts';
import { unseenAdvice } from './unseen-header.ts';

const runbook = 'HeadgateProxyMisconfigured';

export const PROXY_LINES = {
  proxy_misconfigured: {
    level: 'warn',
    message:
      'the proxy does not send required headers: the strictest policy applies to its requests',
    fields: { dialect: DIALECT, missing: 'a list of the names of the missing headers' },
    meaning: 'Compare the configuration of the proxy with its file in `deploy/`.',
    runbook,
    atMost: 'one a minute for each `dialect`',
  },
  header_unseen: {
    level: 'warn',
    fields: {
      dialect: DIALECT,
      header: 'the name of the header',
      requests: 'requests since the policy file was loaded',
    },
    meaning:
      'None of 1,000 requests through a proxy had a header that identity or a limit needs. If clients send it, the proxy does not pass it on, and they share limits: pass the header on; `headgate proxy-config` writes a configuration that does. If no client sends it, remove it from the policy file. A header that a CDN sets is expected only on requests from its networks. Each worker logs this once for each dialect and header, until another policy file is loaded.',
    runbook,
  },
  header_seen: {
    level: 'info',
    message: 'a header that was missing before has arrived: the proxy passes it on',
    fields: { dialect: DIALECT, header: 'the name of the header' },
    meaning: 'Ends `header_unseen`.',
    runbook,
  },
  policy_unknown: {
    level: 'warn',
    message: 'a proxy names a policy that does not exist: its requests are matched like any other',
    fields: { policy: `the first ${LONGEST_NAME} characters of the name` },
    meaning: 'Correct the name in the Envoy route, or add the policy.',
    runbook,
    atMost: ONE_A_MINUTE,
  },
  untrusted_proxy: {
    level: 'warn',
    message:
      'a proxy outside identity.trusted_proxies sends checks, so all its clients share the limits of its address: add the network that it connects from, which is loopback for a proxy on this machine',
    fields: {},
    meaning:
      'Add the network that the proxy connects from to `identity.trusted_proxies`: `loopback` if it runs on the machine of the gateway or asks over a unix socket. Logged again after another policy file was loaded, if that does not trust it either.',
    runbook,
    atMost: ONE_A_MINUTE,
  },
  stranger_refused: {
    level: 'warn',
    message:
      'a call without the right secret (HEADGATE_PROXY_SECRET) was answered 403, and so was its client: if a proxy of yours sent it, correct the secret there',
    fields: {},
    meaning:
      'A proxy of yours sends no secret or another one in `X-Headgate-Secret`, and all of its clients get 403; or the caller is not a proxy of yours.',
    runbook,
    atMost: ONE_A_MINUTE,
  },
  connection_failed: {
    level: 'error',
    message:
      'a fault in the code that reads or writes a connection: the connection was closed, and every other one stays open',
    fields: { port: 'the port of the connection: check, grpc, json or ops', err: ERROR },
    meaning: 'Keep the line for a bug report.',
    runbook: 'HeadgateConnectionsFailed',
    atMost: 'one a minute for each `port`',
  },
  check_port_open: {
    level: 'warn',
    message:
      'other machines can reach the check port, and can use up any limit: set HEADGATE_PROXY_SECRET',
    fields: {},
    meaning: 'Logged at the start, unless only this machine can reach the port.',
  },
} as const satisfies LogLines;

const PROXY_METRICS = {
  headgate_misconfigured_requests_total: {
    help: 'Checks without headers that the proxy must send.',
    labels: ['dialect'],
  },
  headgate_header_unseen: {
    help: '1 while none of at least 1,000 requests through a proxy had a header that the policy file needs, 0 once one has it. With several workers, how many of them report it.',
    labels: ['dialect', 'header'],
  },
  headgate_header_seen: {
    help: '1 once a request through a proxy had a header that the policy file needs, until another policy file is loaded.',
    labels: ['dialect', 'header'],
    aggregator: 'max',
  },
  headgate_unknown_policy_total: { help: 'Checks that name a policy which does not exist.' },
  headgate_untrusted_proxy_requests_total: {
    help: 'Checks from a proxy outside identity.trusted_proxies.',
  },
  headgate_untrusted_header_total: {
    help: 'Headers that were ignored: their sender may not set them, or they do not hold one address.',
    labels: ['header'],
  },
  headgate_connection_faults_total: {
    help: 'Connections that headgate closed because of a fault in the code that reads or writes them, with all requests on them. headgate_check_faults_total counts single checks that were answered 500.',
    labels: ['port'],
  },
  headgate_strangers_refused_total: {
    help: 'Calls without the secret that proxies share with the gateway.',
  },
} as const satisfies MetricRows;

/** When each was last seen, milliseconds since the epoch. Operators see them as long as they last. */
export interface ProxyFaults {
  untrustedMs: number | undefined;
  refusedMs: number | undefined;
}

export function createProxyEvents({ linesOf, metricsOf, isFirst, forget, now }: TelemetryContext) {
  const write = linesOf(PROXY_LINES);
  const metrics = metricsOf(PROXY_METRICS);
  const proxyFaults: ProxyFaults = { untrustedMs: undefined, refusedMs: undefined };
  const proxies = {
    misconfigured(dialect: string, missing: readonly string[]): void {
      metrics.headgate_misconfigured_requests_total.inc({ dialect });
      if (isFirst(`misconfigured ${dialect}`)) write('proxy_misconfigured', { dialect, missing });
    },
    /** `hasProxyConfig`: as in the table of dialects. */
    headerUnseen(unseen: UnseenHeader, hasProxyConfig: boolean): void {
      const { dialect, header, requests } = unseen;
      metrics.headgate_header_unseen.set({ dialect, header }, 1);
      write('header_unseen', { dialect, header, requests }, unseenAdvice(unseen, hasProxyConfig));
    },
    headerArrived(dialect: string, header: string): void {
      metrics.headgate_header_seen.set({ dialect, header }, 1);
    },
    headerSeen(dialect: string, header: string): void {
      metrics.headgate_header_unseen.set({ dialect, header }, 0);
      write('header_seen', { dialect, header });
    },
    policyUnknown(name: string): void {
      metrics.headgate_unknown_policy_total.inc();
      write('policy_unknown', { policy: name.slice(0, LONGEST_NAME) });
    },
    untrustedProxy(): void {
      metrics.headgate_untrusted_proxy_requests_total.inc();
      proxyFaults.untrustedMs = now();
      write('untrusted_proxy', {});
    },
    /** The names come from the policy file and the dialects, not from clients. */
    headersIgnored(names: readonly string[]): void {
      for (const header of names) metrics.headgate_untrusted_header_total.inc({ header });
    },
    unauthorizedRefused(): void {
      metrics.headgate_strangers_refused_total.inc();
      proxyFaults.refusedMs = now();
      write('stranger_refused', {});
    },
    connectionFailed(port: string, error: unknown): void {
      metrics.headgate_connection_faults_total.inc({ port });
      if (isFirst(`connection ${port}`)) write('connection_failed', { port, err: error });
    },
    checkPortOpen: (): void => write('check_port_open', {}),
  };
  return {
    proxies,
    proxyFaults: proxyFaults as Readonly<ProxyFaults>,
    /** Another policy file needs other headers, and may trust other proxies. */
    onOtherPolicyFile() {
      metrics.headgate_header_unseen.reset();
      metrics.headgate_header_seen.reset();
      forget('untrusted_proxy');
    },
  };
}
