/** Log lines about proxies: what they send, leave out, or may not send. */
import { DIALECT, ERROR, LONGEST_NAME, type LogLines, ONE_A_MINUTE } from '../log/log-line.ts';

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
