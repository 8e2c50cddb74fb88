/** Reports what proxies send, leave out, or may not send. */
import type { UnseenHeader } from '../../core/header-watch.ts';
import type { TelemetryContext } from '../context.ts';
import { LONGEST_NAME } from '../log/log-line.ts';
import { type Remedy, unseenAdvice } from './unseen-header.ts';

/** The kind of the events of proxies that are not trusted. */
export const UNTRUSTED = 'untrusted';

export interface ProxyEvents {
  /** No request through a proxy had this header. */
  headerUnseen(unseen: UnseenHeader, remedy: Remedy): void;
  /** A request is the first through a proxy that has this header, which the policy file needs. */
  headerArrived(dialect: string, header: string): void;
  /** A request has a header that was reported as unseen. */
  headerSeen(dialect: string, header: string): void;
  /** A check lacks these headers, which the proxy must send. */
  misconfigured(dialect: string, missing: readonly string[]): void;
  /** A proxy names a policy for a route, and no policy has that name. */
  policyUnknown(name: string): void;
  /** A check comes from a proxy outside `identity.trusted_proxies`. */
  untrustedProxy(): void;
  /** Headers were ignored. Their names come from the policy file and the dialects, not from clients. */
  headersIgnored(names: readonly string[]): void;
  /** A call lacks the secret that proxies share with the gateway. */
  unauthorizedRefused(): void;
  /** An error that belongs to one connection has closed it. `port`: check, grpc, json or ops. */
  connectionFailed(port: string, error: unknown): void;
  /** Other machines can reach the check port, and no secret is set. */
  checkPortOpen(): void;
}

/** What operators are told as long as it is so. */
export interface ProxyFaults {
  /** When a check last came from a proxy outside `identity.trusted_proxies`, milliseconds since the epoch. */
  readonly untrustedMs: number | undefined;
  /** When a call without the secret of HEADGATE_PROXY_SECRET was last refused, milliseconds since the epoch. */
  readonly refusedMs: number | undefined;
}

export function createProxyEvents(context: TelemetryContext): {
  readonly proxies: ProxyEvents;
  readonly proxyFaults: ProxyFaults;
} {
  const { write, isFirst, now } = context;
  const metrics = context.metrics.proxies;
  const proxyFaults: { -readonly [F in keyof ProxyFaults]: ProxyFaults[F] } = {
    untrustedMs: undefined,
    refusedMs: undefined,
  };
  const proxies: ProxyEvents = {
    misconfigured(dialect, missing) {
      metrics.misconfigured.inc({ dialect });
      if (isFirst(`misconfigured ${dialect}`)) write('proxy_misconfigured', { dialect, missing });
    },
    headerUnseen(unseen, remedy) {
      const { dialect, header, requests } = unseen;
      metrics.unseenHeaders.set({ dialect, header }, 1);
      write('header_unseen', { dialect, header, requests }, unseenAdvice(unseen, remedy));
    },
    headerArrived(dialect, header) {
      metrics.seenHeaders.set({ dialect, header }, 1);
    },
    headerSeen(dialect, header) {
      metrics.unseenHeaders.set({ dialect, header }, 0);
      write('header_seen', { dialect, header });
    },
    policyUnknown(name) {
      metrics.unknownPolicies.inc();
      if (isFirst('unknown policy'))
        write('policy_unknown', { policy: name.slice(0, LONGEST_NAME) });
    },
    untrustedProxy() {
      metrics.untrusted.inc();
      proxyFaults.untrustedMs = now();
      if (isFirst(UNTRUSTED)) write('untrusted_proxy', {});
    },
    headersIgnored(names) {
      for (const header of names) metrics.ignoredHeaders.inc({ header });
    },
    unauthorizedRefused() {
      metrics.unauthorized.inc();
      proxyFaults.refusedMs = now();
      if (isFirst('unauthorized')) write('stranger_refused', {});
    },
    connectionFailed(port, error) {
      metrics.connectionFaults.inc({ port });
      if (isFirst(`connection ${port}`)) write('connection_failed', { port, err: error });
    },
    checkPortOpen: () => write('check_port_open', {}),
  };
  return { proxies, proxyFaults };
}
