/** Every rule of `headgate doctor` besides those of `headgate check`, which docs/check.md lists. */
import { PROXY_FILE_FINDINGS } from '../proxy-files/read/catalog.ts';
import {
  diagnosticMaker,
  error,
  fine,
  note,
  PASS_HEADER,
  PRINT_AGAIN,
  type RuleText,
  warning,
} from '../proxy-files/read/rule-text.ts';

const SETTING_FINDINGS = {
  'invalid-setting': error(
    'A setting in the environment has a mistake.',
    'Correct it: docs/configuration.md lists the settings.',
  ),
  'open-check-port': warning(
    'Other machines can reach the check port, and no proxy secret is set. Anyone who reaches it can use up the limits of anyone.',
    'Set `HEADGATE_PROXY_SECRET`, or `HEADGATE_HOST=127.0.0.1`, or let only the proxy reach the port.',
  ),
  'unused-port-setting': warning(
    'With `HEADGATE_LISTEN`, headgate listens on a unix socket, so `HEADGATE_PORT` has no effect.',
    'Remove one of the two settings.',
  ),
  'policy-file': fine('The policy file is valid.'),
  'policy-file-not-named': warning(
    'No policy file was named, so the one that comes with headgate was examined.',
    'Name yours: `--policies policies.yaml`, or set `HEADGATE_POLICIES`.',
  ),
  'other-policy-file': warning(
    'The running gateway serves another policy file than the one that was examined, or another version of it.',
    'Name the file that the gateway serves with `--policies`. If this is that file and it was changed some seconds ago, run headgate doctor again: the gateway reads it within 5 seconds. If it has refused the file, `headgate stats` says why.',
  ),
  'no-redis': error(
    '`--redis` was given, but no setting names a Redis.',
    'Set `HEADGATE_REDIS_URL`.',
  ),
  'keys-not-kept': warning(
    'The policy file has `keys: redis`, and no setting names a Redis. The gateway keeps the keys in its memory, and they are lost when it ends.',
    'Set `HEADGATE_REDIS_URL`. If the gateway has this setting, run headgate doctor with its settings.',
  ),
} as const satisfies Readonly<Record<string, RuleText>>;

/** About running programs and their machine. Their errors have another exit code than those of the configuration. */
const RUNNING_FINDINGS = {
  'port-taken': error(
    'Another program has a port that headgate needs.',
    'Stop it, or choose another port with the setting that the finding names.',
  ),
  'port-refused': error(
    'headgate may not listen on this address and port.',
    'Choose an address of this machine and a port above 1023.',
  ),
  port: fine('The port is free, or a gateway has it.'),
  'low-open-files': warning(
    'The process may open few files. Each connection of a proxy, and each to Redis, is one.',
    'Raise it: `ulimit -n 65536`, `LimitNOFILE=65536` in a unit, or `ulimits` in compose.',
  ),
  'open-files': fine('The process may open enough files.'),
  node: fine('The version of Node that runs headgate.'),
  'redis-fault': error(
    'Gateways cannot count on this server.',
    'Correct what the finding names: the address in `HEADGATE_REDIS_URL`, its account, or the configuration of the server. docs/redis.md says what gateways need. `headgate check --redis` examines it again.',
  ),
  'redis-warning': warning(
    'Gateways can count there, but something may go wrong.',
    'Change the setting or the right that the finding names: docs/redis.md says what gateways need. Nothing, if this is intended.',
  ),
  'redis-note': note('Good to know of this server.'),
  redis: fine('What was examined on the server.'),
  'no-answer': error(
    'Nothing answers at the URL of `--through`.',
    'Start the proxy, or correct the URL.',
  ),
  'not-limited': error(
    'The response has no `X-RateLimit-*` header: the proxy does not ask headgate for this URL, its policy has `headers: off`, or NGINX does not add the headers, because the location has own `add_header` lines. Traefik and APISIX show them on denials only.',
    'Check that the location or route of this URL has the check, and that the proxy has loaded the file.',
  ),
  'headers-not-shown': note(
    'The gateway checks requests for this URL, and the answers to allowed ones have no `X-RateLimit-*` headers: Traefik and APISIX show them on denials only, and NGINX where the `add_header` lines of the part are.',
    'Add the `add_header` lines of the part for locations where the application answers. Nothing, if clients need no such headers.',
  ),
  'gateway-unreachable': error(
    'The proxy could not reach headgate, so requests are not counted or are refused with 503.',
    'Start the gateway. Check the address and the secret in the file of the proxy.',
  ),
  'answered-403': error(
    'The answer is a 403 without `X-RateLimit-*` headers: headgate refuses the proxy because its secret is missing or wrong, or the proxy or the application has answered. The finding says which one it is if the ops server of the gateway answers.',
    'Compare `HEADGATE_PROXY_SECRET` with the file of the proxy. If that fits, try a path that the application answers without a login.',
  ),
  'client-refused': error(
    'headgate refuses this client with 403, for example because it is blocked.',
    'See `block` in the policy file, and `headgate overrides`. If this client shall pass: `headgate clients unblock`.',
  ),
  'answered-503': error(
    'The answer is the 503 for requests that cannot be checked, and the gateway runs. Either the proxy asks another address, or the answer of the gateway came too late, or a part of headgate 0.2 for NGINX turns a 401 of the site, as for HTTP Basic authentication, into this 503.',
    'Examine the file of the proxy: `headgate doctor --proxy-file FILE`.',
  ),
  'answered-by-site': warning(
    'The site itself has answered 401 or 503, so the answer shows nothing of limits. That is no fault of headgate.',
    'Name a URL that the site answers otherwise. For HTTP Basic authentication: `--through http://USER:PASSWORD@HOST/`.',
  ),
  'denial-lost': error(
    'headgate denied a request, and the client got another answer, without `Retry-After`. In NGINX, an `error_page` of the site for 403 takes the place of the one of headgate.',
    'Examine the file of the proxy: `headgate doctor --proxy-file FILE` names the line.',
  ),
  'unknown-plans': warning(
    'A key, or what the proxy names by `identity.plan`, has a plan that no policy of the running gateway has. Its clients get the limits without a plan.',
    'Correct the name of the plan, or add it to `plans` of the policies: `headgate explain` shows the plan of a request. If the proxy passes on what clients write, `headgate doctor --proxy-file FILE` finds it.',
  ),
  'store-down': warning(
    'headgate cannot use Redis: it does not count, or each gateway counts by itself.',
    'Run `headgate doctor` with `HEADGATE_REDIS_URL` where the gateway runs.',
  ),
  'answered-500': error(
    'The proxy answered 500. NGINX does so if headgate denies and the file has no `error_page` for 429.',
    'Examine the file of the proxy: `headgate doctor --proxy-file FILE`. Look into the error log of the proxy.',
  ),
  'spoofed-address': error(
    'A client that invents this header gets another counter each time, so no limit stops it.',
    'Trust the header only from addresses of your own proxies: in the file of the proxy, and in `identity.trusted_proxies` and `identity.sources`.',
  ),
  'proxy-not-trusted': error(
    'The gateway does not trust the address from which the proxy connects. So it ignores the address of the client, and all clients of this proxy share one counter.',
    'Add the network from which the proxy connects to `identity.trusted_proxies` in the policy file: `loopback` if it runs on the machine of the gateway or asks over a unix socket, otherwise its address.',
  ),
  'header-lost': error(
    'The policy file reads a header, and the proxy does not pass it on to headgate. So clients with this header share the counter of their address.',
    PASS_HEADER,
  ),
  'mcp-header-lost': error(
    'The policy file has policies for MCP calls, and the proxy does not pass on a header that says which call it is. So every call counts as one without headers (`method: none`).',
    PASS_HEADER,
  ),
  'not-examined': note(
    'The gateway could not be asked what has reached it.',
    'Run headgate doctor with `--through` where the gateway runs, with its settings `HEADGATE_OPS_HOST` and `HEADGATE_OPS_PORT`, and name the policy file that it serves.',
  ),
  'not-counted': warning(
    'Two requests were allowed, and the second did not lower `X-RateLimit-Remaining`.',
    'Nothing, if the limit refills within milliseconds, or charges afterwards and this request cost nothing. Otherwise check whether the proxy caches responses, and whether gateways without a common Redis share the traffic.',
  ),
  'counted-twice': warning(
    'One request lowers `X-RateLimit-Remaining` by more than the cost of a policy: the proxy checks it more than once, or two proxies in a row check it. So clients get a part of their limits only.',
    'Leave one check on the way of a request: one `import headgate` in Caddy, one filter or middleware, in one of the proxies. Nothing, if other clients send requests from this address all the time.',
  ),
  'not-settled': warning(
    'A policy charges afterwards, and nobody reports the outcomes of its requests, so every reservation stays counted.',
    'With Envoy, connect its access log over gRPC, as `deploy/envoy/openai.yaml` does. With other proxies, the application must get `X-Headgate-Settle` from the proxy, and report the outcome to `POST /settle`: docs/charging-afterwards.md. If tokens are unknown, give all gateways the same `HEADGATE_SETTLE_KEYS`. If several gateways run, another one may have got the report: `headgate_settlements_total` of each says so.',
  ),
  'not-reserved': note(
    'A policy charges afterwards, and no request has reserved yet.',
    'Name a URL of this policy with `--through`, if it is for GET. Otherwise send such a request, and run headgate doctor again.',
  ),
  'settle-token-shown': error(
    'The client got the header `X-Headgate-Settle`. Whoever has the token of a request, and reaches a channel, can say what it cost.',
    PRINT_AGAIN,
  ),
  'clock-differs': warning(
    'The clock of the proxy and that of this machine differ by more than 5 seconds.',
    'Synchronize both with NTP.',
  ),
  'denied-now': note('This client is denied now, with a 429 as it should be.'),
  through: fine('What a client sees.'),
} as const satisfies Readonly<Record<string, RuleText>>;

export const FINDINGS = { ...SETTING_FINDINGS, ...PROXY_FILE_FINDINGS, ...RUNNING_FINDINGS };
export type FindingId = keyof typeof FINDINGS;

export const found = diagnosticMaker(FINDINGS);

export function isAboutRunningPrograms(rule: string): boolean {
  return Object.hasOwn(RUNNING_FINDINGS, rule);
}
