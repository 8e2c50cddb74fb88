/** Every finding of `headgate doctor` besides those of `headgate check`, which docs/check.md lists. */

import {
  configError,
  configWarning,
  type FindingText,
  of,
  type Part,
  runError,
  runWarning,
  type Severity,
} from './finding-text.ts';

export type { FindingText, Severity } from './finding-text.ts';

const PRINT_AGAIN =
  "Print the proxy's file again as you made it, and reload the proxy: `headgate proxy-config NAME --policies FILE`, with `--include PLACE` for each part that your file includes.";

export const FINDINGS = {
  'invalid-setting': configError(
    'A setting in the environment has a mistake.',
    'Correct it: docs/configuration.md lists the settings.',
  ),
  'open-check-port': configWarning(
    'Other machines can reach the check port, and no proxy secret is set. Anyone who reaches it can use up the limits of anyone.',
    'Set `HEADGATE_PROXY_SECRET`, or `HEADGATE_HOST=127.0.0.1`, or let only the proxy reach the port.',
  ),
  'unused-port-setting': configWarning(
    'With `HEADGATE_LISTEN`, headgate listens on a unix socket, so `HEADGATE_PORT` has no effect.',
    'Remove one of the two settings.',
  ),
  'policy-file': of('fine', 'configuration')('The policy file is valid.', ''),
  'policy-file-not-named': configWarning(
    'No policy file was named, so the one that comes with headgate was examined.',
    'Name yours: `--policies policies.yaml`, or set `HEADGATE_POLICIES`.',
  ),
  'other-policy-file': configWarning(
    'The running gateway serves another policy file than the one that was examined, or another version of it.',
    'Name the file that the gateway serves with `--policies`. If this is that file and it was changed some seconds ago, run headgate doctor again: the gateway reads it within 5 seconds. If it has refused the file, `headgate stats` says why.',
  ),
  'unknown-proxy-file': configError(
    'The file does not ask headgate: it has no `auth_request`, `ext_authz`, check of Caddy, Lua action or `forwardAuth` with one of its paths.',
    'Add the parts that `headgate proxy-config NAME --include` prints, or name the file that has them. If NGINX runs with another main file: `nginx -c FILE -T | headgate doctor --proxy-file -`.',
  ),
  'empty-input': configError(
    'Standard input, or the pipe that was named, is empty: the command before headgate doctor has printed nothing.',
    'Run `nginx -t`: it says which line has a mistake, or which file it may not read. Once it finds no mistake, `nginx -T` prints the configuration.',
  ),
  'part-of-proxy-file': configError(
    'The file is a part of a configuration. What belongs to it is in other files, so it cannot be examined alone.',
    'Name the file that includes it. For NGINX that is its main file, often `/etc/nginx/nginx.conf`; or run `nginx -T | headgate doctor --proxy-file -`.',
  ),
  'unreadable-include': configError(
    'A file of NGINX or Caddy includes another one that does not exist or cannot be read.',
    'Correct the path. NGINX reads relative paths from the folder of its main file, Caddy from that of the file with the `import`. If only root may read the file, run headgate doctor as root, or `sudo nginx -T | headgate doctor --proxy-file -`.',
  ),
  'server-part-missing': configError(
    'A location asks headgate, but its `server` block has no location `/_headgate`. So the application gets the checks, and answers them.',
    'Include the part for the `server` block in each `server` with such a location: `headgate proxy-config nginx --include server`.',
  ),
  'lines-not-inherited': configWarning(
    'NGINX inherits `proxy_set_header`, `add_header`, `error_page` and `proxy_hide_header` only into a location without such lines. The part of headgate has some, so the lines of the `server` or `http` block that the finding names do not apply in this location.',
    'Copy these lines into the location, below the `include` of the part. Above it, an `error_page` for 401 or 403 would take the place of the lines of headgate.',
  ),
  'proxy-headers-not-inherited': configError(
    'NGINX inherits `proxy_set_header` only into a location without such lines. The part of headgate has some, so the application does not get the `Host`, the address or the protocol of the client that your `server` or `http` block sets, or websockets do not open.',
    'Copy these lines into the location, below the `include` of the part.',
  ),
  'part-not-inherited': configError(
    'NGINX inherits `error_page` and `add_header` only into a block without such lines. The part of headgate is in a block around this one, which has own lines. Here clients get a plain 403 in place of the 429, or no rate-limit headers.',
    'Include the part in this location, too. In an `if` block, repeat the lines of the part that have this name.',
  ),
  'denial-becomes-page': configError(
    'NGINX uses the first `error_page` of a block for a status. A line of the site for 401 or 403 stands before those of headgate, so denied clients get the page of the site, without `Retry-After`.',
    'Move this line below the `include` of the part, or remove 401 and 403 from it.',
  ),
  'own-refusal-replaced': configError(
    'The part for the `server` block is of an older headgate. It takes every 401 and 403 for one of headgate, also those of `auth_basic`, `deny`, `return`, and of the application with `proxy_intercept_errors on`. So browsers do not ask for a password, and pages for 403 are empty.',
    PRINT_AGAIN,
  ),
  'old-part': configWarning(
    'The part for the location is of another policy file: this one reads a header that the part does not pass on. NGINX before 1.23 counts a request with two such headers by the first one, and the application gets both.',
    PRINT_AGAIN,
  ),
  'limited-path-unchecked': configWarning(
    'A policy limits a path, and the proxy passes requests for this path on without asking headgate. So the policy limits nothing there.',
    'Add the check to that location, route or frontend, as `headgate proxy-config NAME --include` prints it. Do nothing if these requests shall have no limit.',
  ),
  'upstream-unchecked': configWarning(
    'The proxy passes requests to an application in two ways. One asks headgate, the other does not, so clients that take the other have no limits.',
    'Add the check to the way that the finding names. Do nothing if only your own programs can take it.',
  ),
  'path-rewritten': configWarning(
    'headgate checks the path that the client sent, and the proxy passes another one on. A policy for the new path does not limit these requests.',
    'Give the policy a second one for the path that clients send, or check the new path as well: the quickstart of the proxy shows how.',
  ),
  'other-check-replaced': configError(
    'A location has only one `auth_request`. The one of headgate takes the place of the one that the `server` or `http` block has, so nobody asks that service there.',
    'Let an outer `server` block ask headgate and pass requests on to the inner one, which asks the other service: docs/quickstart/nginx.md shows it.',
  ),
  'satisfied-by-headgate': configError(
    'With `satisfy any`, one check that allows a request is enough. headgate allows what is within the limits, so `allow`, `deny` and `auth_basic` keep nobody out.',
    'Let an outer `server` block ask headgate and pass requests on to the inner one, which has `satisfy any`: docs/quickstart/nginx.md shows it.',
  ),
  'unreadable-proxy-file': configError(
    'The file cannot be read, or is not valid YAML.',
    'Correct the path or the file.',
  ),
  'header-not-passed': configError(
    'The policy file reads a header that the proxy does not pass on to headgate, so its clients share the counter of their address.',
    PRINT_AGAIN,
  ),
  'header-from-client': configError(
    'headgate believes this header because the proxy should set it, but the proxy passes on what the client sends. So clients choose who they are.',
    'Let the proxy set the header to a value that clients cannot choose, or remove it from the policy file.',
  ),
  'secret-not-sent': configError(
    'The gateway has a `HEADGATE_PROXY_SECRET`, but the proxy sends no secret, or another one. headgate refuses its checks, so the proxy answers clients with 403.',
    'Put the value of `HEADGATE_PROXY_SECRET` into the line that names the secret, and reload the proxy. Without such a line, print the file or its part again with `headgate proxy-config --secret`.',
  ),
  'other-gateway-address': configWarning(
    'The proxy asks another address than the one on which headgate listens by these settings.',
    'Correct the address in the file, or `HEADGATE_HOST`, `HEADGATE_PORT`, `HEADGATE_GRPC_PORT` or `HEADGATE_LISTEN`. If the gateway runs elsewhere, run headgate doctor with its settings.',
  ),
  'grpc-off': configError(
    'The proxy asks over gRPC, but `HEADGATE_GRPC_PORT` is off.',
    'Set `HEADGATE_GRPC_PORT`, or use the file for HTTP.',
  ),
  'other-failure-routes': configError(
    'The routes that the proxy refuses while no gateway answers are not those with `on_gateway_failure: deny` in the policy file.',
    'Write the part `refused without the gateway` again with `headgate proxy-config`.',
  ),
  'denial-becomes-500': configError(
    'NGINX turns the 429 of `auth_request` into a 500, because `proxy_intercept_errors on` or an `error_page 429` is missing.',
    'Add the part for `location = /_headgate` that `headgate proxy-config nginx --include` prints.',
  ),
  'refuses-without-gateway': of('info', 'configuration')(
    'If the gateway is down or too slow, the proxy refuses every request.',
    'To let requests pass while no gateway answers, write the file again with `headgate proxy-config`. Nothing, if this is intended.',
  ),
  'proxy-file': of('fine', 'configuration')('The file was examined.', ''),
  'port-taken': runError(
    'Another program has a port that headgate needs.',
    'Stop it, or choose another port with the setting that the finding names.',
  ),
  'port-refused': runError(
    'headgate may not listen on this address and port.',
    'Choose an address of this machine and a port above 1023.',
  ),
  port: of('fine', 'running')('The port is free, or a gateway has it.', ''),
  'low-open-files': runWarning(
    'The process may open few files. Each connection of a proxy, and each to Redis, is one.',
    'Raise it: `ulimit -n 65536`, `LimitNOFILE=65536` in a unit, or `ulimits` in compose.',
  ),
  'open-files': of('fine', 'running')('The process may open enough files.', ''),
  node: of('fine', 'running')('The version of Node that runs headgate.', ''),
  'no-redis': configError(
    '`--redis` was given, but no setting names a Redis.',
    'Set `HEADGATE_REDIS_URL`.',
  ),
  'redis-fault': runError(
    'Gateways cannot count on this server.',
    'Correct what the finding names: the address in `HEADGATE_REDIS_URL`, its account, or the configuration of the server. docs/redis.md says what gateways need. `headgate check --redis` examines it again.',
  ),
  'redis-warning': runWarning(
    'Gateways can count there, but something may go wrong.',
    'Change the setting or the right that the finding names: docs/redis.md says what gateways need. Nothing, if this is intended.',
  ),
  'redis-note': of('info', 'running')('Good to know of this server.', ''),
  redis: of('fine', 'running')('What was examined on the server.', ''),
  'no-answer': runError(
    'Nothing answers at the URL of `--through`.',
    'Start the proxy, or correct the URL.',
  ),
  'not-limited': runError(
    'The response has no `X-RateLimit-*` header: the proxy does not ask headgate for this URL, or NGINX does not add the headers, because the location has own `add_header` lines. Traefik and APISIX show them on denials only.',
    'Check that the location or route of this URL has the check, and that the proxy has loaded the file.',
  ),
  'gateway-unreachable': runError(
    'The proxy could not reach headgate, so requests are not counted or are refused with 503.',
    'Start the gateway. Check the address and the secret in the file of the proxy.',
  ),
  'answered-403': runError(
    'The answer is a 403 without `X-RateLimit-*` headers: headgate refuses the proxy because its secret is missing or wrong, this client is blocked, or the application has answered. The finding says which one it is if the ops server of the gateway answers.',
    'Compare `HEADGATE_PROXY_SECRET` with the file of the proxy. If that fits, see `block` in the policy file, and `headgate overrides`.',
  ),
  'store-down': runWarning(
    'headgate cannot use Redis: it does not count, or each gateway counts by itself.',
    'Run `headgate doctor` with `HEADGATE_REDIS_URL` where the gateway runs.',
  ),
  'answered-500': runError(
    'The proxy answered 500. NGINX does so if headgate denies and the file has no `error_page` for 429.',
    'Examine the file of the proxy: `headgate doctor --proxy-file FILE`. Look into the error log of the proxy.',
  ),
  'spoofed-address': runError(
    'A client that invents this header gets another counter each time, so no limit stops it.',
    'Trust the header only from addresses of your own proxies: in the file of the proxy, and in `identity.trusted_proxies` and `identity.sources`.',
  ),
  'proxy-not-trusted': runError(
    'The gateway does not trust the address from which the proxy connects. So it ignores the address of the client, and all clients of this proxy share one counter.',
    'Add the network from which the proxy connects to `identity.trusted_proxies` in the policy file: `loopback` if it runs on the machine of the gateway or asks over a unix socket, otherwise its address.',
  ),
  'header-lost': runError(
    'The policy file reads a header, and the proxy does not pass it on to headgate. So clients with this header share the counter of their address.',
    PRINT_AGAIN,
  ),
  'not-examined': of('info', 'running')(
    'The gateway could not be asked what has reached it.',
    'Run headgate doctor with `--through` where the gateway runs, with its settings `HEADGATE_OPS_HOST` and `HEADGATE_OPS_PORT`, and name the policy file that it serves.',
  ),
  'not-counted': runWarning(
    'Two requests were allowed, and the second did not lower `X-RateLimit-Remaining`.',
    'Nothing, if the limit refills within milliseconds. Otherwise check whether the proxy caches responses, and whether gateways without a common Redis share the traffic.',
  ),
  'clock-differs': runWarning(
    'The clock of the proxy and that of this machine differ by more than 5 seconds.',
    'Synchronize both with NTP.',
  ),
  'denied-now': of('info', 'running')('This client is denied now, with a 429 as it should be.', ''),
  through: of('fine', 'running')('What a client sees.', ''),
} as const satisfies Readonly<Record<string, FindingText>>;

export type FindingId = keyof typeof FINDINGS;

export interface DoctorFinding {
  /** A FindingId, or a rule of `headgate check`. */
  readonly id: string;
  readonly severity: Severity;
  readonly part: Part;
  /** The file, address or URL. */
  readonly subject: string;
  readonly problem: string;
  /** Empty if nothing is to do. */
  readonly remedy: string;
}

export function found(id: FindingId, subject: string, problem: string): DoctorFinding {
  const { severity, part, remedy } = FINDINGS[id];
  return { id, severity, part, subject, problem, remedy: severity === 'fine' ? '' : remedy };
}
