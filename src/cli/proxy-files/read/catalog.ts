import {
  diagnosticMaker,
  error,
  fine,
  note,
  PASS_HEADER,
  PRINT_AGAIN,
  type RuleText,
  warning,
} from './rule-text.ts';

const WAY_OUT =
  'The quickstart of the proxy shows how to have both, under "If you have an authorizer already".';

export const PROXY_FILE_FINDINGS = {
  'unknown-proxy-file': error(
    'The file does not ask headgate: it has no `auth_request`, `ext_authz`, check of Caddy, Lua action or `forwardAuth` with one of its paths.',
    'Add the parts that `headgate proxy-config NAME --include` prints, or name the file that has them. If NGINX runs with another main file: `nginx -c FILE -T | headgate doctor --proxy-file -`.',
  ),
  'empty-input': error(
    'Standard input, or the pipe that was named, is empty: the command before headgate doctor has printed nothing.',
    'Run `nginx -t`: it says which line has a mistake, or which file it may not read. Once it finds no mistake, `nginx -T` prints the configuration.',
  ),
  'part-of-proxy-file': error(
    'The file is a part of a configuration. What belongs to it is in other files, so it cannot be examined alone.',
    'Name the file that includes it. For NGINX that is its main file, often `/etc/nginx/nginx.conf`; or run `nginx -T | headgate doctor --proxy-file -`.',
  ),
  'unreadable-include': error(
    'A file of NGINX or Caddy includes another one that does not exist or cannot be read.',
    'Correct the path. NGINX reads relative paths from the folder of its main file, Caddy from that of the file with the `import`. If only root may read the file, run headgate doctor as root, or `sudo nginx -T | headgate doctor --proxy-file -`.',
  ),
  'server-part-missing': error(
    'A location asks headgate, but its `server` block has no location `/_headgate`. So the application gets the checks, and answers them.',
    'Include the part for the `server` block in each `server` with such a location: `headgate proxy-config nginx --include server`.',
  ),
  'lines-not-inherited': warning(
    'NGINX inherits `proxy_set_header`, `add_header`, `error_page` and `proxy_hide_header` only into a location without such lines. The part of headgate has some, so the lines of the `server` or `http` block that the finding names do not apply in this location.',
    'Copy these lines into each location that the finding names, below the `include` of the part, or into a file that these locations include. docs/quickstart/nginx.md says how a page for 403 works.',
  ),
  'proxy-headers-not-inherited': error(
    'NGINX inherits `proxy_set_header` only into a location without such lines. The part of headgate has some, so the application does not get the `Host`, the address or the protocol of the client that your `server` or `http` block sets, or websockets do not open.',
    'Copy these lines into each location that the finding names, below the `include` of the part.',
  ),
  'part-not-inherited': error(
    'NGINX inherits `error_page` and `add_header` only into a block without such lines. The part of headgate is in a block around this one, which has own lines. Here clients get a plain 403 in place of the 429, or no rate-limit headers.',
    'Include the part in this location, too. In an `if` block, repeat the lines of the part that have this name.',
  ),
  'denial-becomes-page': error(
    'NGINX uses the first `error_page` of a block for a status, and a line of the site stands above the one of headgate. So a denied client gets the page of the site, without `Retry-After`.',
    'Remove 403 (and 401, with a part of headgate 0.2) from this line. For a page of your own: `error_page 403` in the block around this one, and `recursive_error_pages on;` beside the `include` of the part.',
  ),
  'denial-on-error-page': warning(
    'An `error_page` leads from a location that does not ask headgate into one that does. NGINX uses error pages once for a request, so a denial there is a plain 403 in place of the 429.',
    'Write `recursive_error_pages on;` where the `error_page` stands, or `try_files $uri @name;` in place of it.',
  ),
  'own-403-page-unused': warning(
    'The part of headgate has an `error_page` for 403, so a page of the site for its own 403 is not used here. Clients get the page of NGINX.',
    'Write `error_page 403` in the `server` block, and `recursive_error_pages on;` in each location that the finding names.',
  ),
  'own-403-body-lost': error(
    'With intercepted errors, NGINX uses the `error_page` of headgate also for a 403 of the application. Clients get the page of NGINX in place of its answer.',
    'Write `proxy_intercept_errors off;` in this location (or that of `fastcgi_`, `uwsgi_`, `scgi_`, `grpc_`). If your own pages are needed there: docs/quickstart/nginx.md has the way.',
  ),
  'own-refusal-replaced': error(
    'The part is of headgate 0.2. It takes every 401 and 403 for one of headgate, also those of `auth_basic`, `deny` and `return`, and of the application if errors are intercepted. So browsers do not ask for a password, and pages for 403 are empty.',
    PRINT_AGAIN,
  ),
  'check-rewritten': error(
    'NGINX runs the `rewrite`, `if` and `return` lines of a `server` block for the check as well. This one sends it elsewhere: each request gets a 500, or is not counted.',
    'Print the part for the server again, and include it above these lines: `headgate proxy-config nginx --policies FILE --include server`.',
  ),
  'check-inherits': error(
    'The check inherits lines of the site, in NGINX from `server` or `http`, in HAProxy from `defaults`. They answer it in place of headgate, change verdicts, or take headgate for down.',
    PRINT_AGAIN,
  ),
  'old-part': warning(
    'The part for the location is of another policy file: this one reads a header that the part does not pass on. NGINX before 1.23 counts a request with two such headers by the first one, and the application gets both.',
    PRINT_AGAIN,
  ),
  'global-part-missing': error(
    'The Caddyfile lacks the part for the global options. Caddy reads larger headers than headgate, and requests with such headers pass without a check.',
    'Print it with `headgate proxy-config caddy --include global`, and import it in the global options: docs/quickstart/caddy.md.',
  ),
  'part-takes-requests': error(
    'The part that headgate 0.2 printed for a site of Caddy passes every request of the site to one application, so other lines of the site have no effect.',
    'Print the parts again, and write `import headgate` in the site in place of the old part, beside your own lines: docs/quickstart/caddy.md.',
  ),
  'limited-path-unchecked': warning(
    'A policy limits a path, and the proxy passes requests for this path on without asking headgate. So the policy limits nothing there.',
    'Add the check to that location, route or frontend, as `headgate proxy-config NAME --include` prints it. Do nothing if these requests shall have no limit.',
  ),
  'upstream-unchecked': warning(
    'The proxy passes requests to an application in two ways. One asks headgate, the other does not, so clients that take the other have no limits.',
    'Add the check to the way that the finding names. Do nothing if only your own programs can take it, or if its requests shall have no limit.',
  ),
  'check-not-enforced': warning(
    'The ext_authz filter of Envoy checks only some requests, or passes those that headgate denies.',
    'Once every request shall be limited, remove `filter_enabled`, `filter_enabled_metadata`, `shadow_mode`, `disabled` and the matcher around the filter.',
  ),
  'check-timeout': warning(
    'headgate answers within 50 ms, with or without Redis. With a shorter timeout, Envoy gives up answers that come; with a long one or none, requests wait while a gateway hangs.',
    'Set it to 0.2s, as in the file of `headgate proxy-config`.',
  ),
  'request-id-from-client': warning(
    'headgate counts requests with one id once within two seconds, and the listener of Envoy lets clients choose the id. So they get free requests.',
    "Delete the line `x-headgate-request-id`, or over gRPC `request_id: x-request-id`. Or set `use_remote_address: true` and the `internal_address_config` of the printed part. With `preserve_external_request_id`, keep the line only if the load balancer overwrites each client's `X-Request-Id`.",
  ),
  'spelling-skips-check': warning(
    'A route of Envoy for a prefix or an expression has no check, or names a policy. Envoy compares paths as clients write them, so `/files/../login` takes the route for `/files/`, and an application may serve `/login`.',
    'Remove the setting, and give the paths a policy in the policy file, with `mode: off` if they shall have no limit: headgate reads all spellings. Or let the route match one `path`. Or set `normalize_path: true`, `merge_slashes: true` and `path_with_escaped_slashes_action: UNESCAPE_AND_REDIRECT` in the connection manager; applications then get the changed path.',
  ),
  'setting-without-filter': error(
    'A `typed_per_filter_config` of Envoy has a setting of ext_authz for a name that no filter of the listener has. Envoy ignores it.',
    'Write the name of the filter. In printed parts it is `headgate.ext_authz`.',
  ),
  'shared-filter-name': error(
    'Two filters of a listener of Envoy have one name, so a `typed_per_filter_config` for it changes both: a route that turns one check off turns off the other too.',
    "Give each filter its own name, also in `typed_per_filter_config`. The filters of headgate's parts have names that begin with `headgate.`.",
  ),
  'service-of-route': note(
    'A route of Envoy sends its checks to its own service. Clients can crash Envoy 1.36 before 1.36.9, 1.37 before 1.37.5 and 1.38 before 1.38.3 with that (CVE-2026-47205).',
    'See `envoy --version`, and upgrade if it is one of these.',
  ),
  'path-rewritten': warning(
    'headgate checks the path that the client sent, and the proxy passes another one on. A policy for the new path does not limit these requests.',
    'Check the new path as well, so that both paths share one counter: the quickstart of the proxy shows how. A second policy for the path that clients send counts apart from the first one, so a client that uses both paths gets both limits.',
  ),
  'other-check-replaced': error(
    'A location has only one `auth_request`: its own, otherwise the one of the block around it. So one of the two services is not asked there.',
    'Let an outer `server` block ask headgate and pass requests on to the inner one, which asks the other service: docs/quickstart/nginx.md shows it.',
  ),
  'satisfied-by-headgate': error(
    'With `satisfy any`, one check that allows a request is enough. headgate allows what is within the limits, so `allow`, `deny` and `auth_basic` keep nobody out.',
    'Let an outer `server` block ask headgate and pass requests on to the inner one, which has `satisfy any`: docs/quickstart/nginx.md shows it.',
  ),
  'unreadable-proxy-file': error(
    'The file cannot be read, or the proxy refuses it for a mistake in its syntax.',
    'Correct the path or the file.',
  ),
  'header-not-passed': error(
    'The policy file reads a header that the proxy does not pass on to headgate, so its clients share the counter of their address.',
    PASS_HEADER,
  ),
  'mcp-header-not-passed': error(
    'The policy file has policies for MCP calls, and the proxy does not pass on a header that says which call it is. So every call counts as one without headers (`method: none`), however it is sent.',
    PASS_HEADER,
  ),
  'cors-header-not-passed': error(
    'The policy file has `answers.cors`, and the proxy does not pass on a header that browsers send. So pages cannot read denials, or preflights use up the limits of their path.',
    PASS_HEADER,
  ),
  'metadata-not-sent': error(
    'The policy file reads users or plans from metadata of a filter of Envoy, and this proxy does not send it to headgate. So its clients are not users, and have no plan from there.',
    'Print the file or its part again with `headgate proxy-config envoy-grpc`. Another proxy, and Envoy over HTTP, can only set a header: name it in `identity.user` or `identity.plan`.',
  ),
  'metadata-not-written': error(
    'The policy file reads users or plans from metadata of a filter of Envoy, and no filter before `headgate.ext_authz` writes it. So its clients are not users, and have no plan from there.',
    'Put the filter before `headgate.ext_authz`. `jwt_authn` needs `payload_in_metadata` with the first name of `claim`: docs/recipes/plans-from-a-token.md shows one.',
  ),
  'settle-token-not-passed': warning(
    'A policy charges afterwards, and the file does not name the header `X-Headgate-Settle`. So the application gets no token with which it reports what a request turned out to cost, or a client gets it. Reservations that nothing settles stay.',
    PRINT_AGAIN,
  ),
  'header-from-client': error(
    'headgate believes this header because the proxy should set it, but the proxy passes on what the client sends. So clients choose who they are.',
    'Let the proxy set the header to a value that clients cannot choose, or remove it from the policy file. In Envoy, an earlier filter must remove or overwrite it, whatever the request: docs/recipes/plans-from-a-token.md shows one.',
  ),
  'mcp-header-not-compared': error(
    '`identity.verified_headers` says that the proxy compares the headers of MCP calls with their bodies, and the file does not show that. If it does not, a client of an old revision can name a cheap tool in the headers and call another one.',
    'Remove `mcp-method` and `mcp-name` from `identity.verified_headers`: servers of MCP 2026-07-28 compare the headers themselves, and other calls count for `method: none`. Or take over all parts between `# mcp:` and `# mcp: end` of `deploy/envoy/mcp.yaml`, unchanged, with your path: only with all of them Envoy compares every call. Its filter for MCP alone does not, whatever its `attribute_source`.',
  ),
  'secret-not-sent': error(
    'The gateway has a `HEADGATE_PROXY_SECRET`, but the proxy sends no secret, or another one. headgate refuses its checks, so the proxy answers clients with 403.',
    'Put the value of `HEADGATE_PROXY_SECRET` into the line that names the secret, and reload the proxy. Without such a line, print the file or its part again with `headgate proxy-config --secret`.',
  ),
  'other-gateway-address': warning(
    'The proxy asks another address than the one on which headgate listens by these settings.',
    'Correct the address in the file, or `HEADGATE_HOST`, `HEADGATE_PORT`, `HEADGATE_GRPC_PORT` or `HEADGATE_LISTEN`. If the gateway runs elsewhere, run headgate doctor with its settings.',
  ),
  'grpc-off': error(
    'The proxy asks over gRPC, but `HEADGATE_GRPC_PORT` is off.',
    'Set `HEADGATE_GRPC_PORT`, or use the file for HTTP.',
  ),
  'other-failure-routes': error(
    'The routes that the proxy refuses while no gateway answers are not those with `on_gateway_failure: deny` in the policy file.',
    'Write the part `refused without the gateway` again with `headgate proxy-config`.',
  ),
  'denial-becomes-500': error(
    'NGINX turns the 429 of `auth_request` into a 500, because `proxy_intercept_errors on` or an `error_page 429` is missing.',
    'Add the part for `location = /_headgate` that `headgate proxy-config nginx --include` prints.',
  ),
  'refuses-without-gateway': note(
    'If the gateway is down or too slow, the proxy refuses every request.',
    'To let requests pass while no gateway answers, write the file again with `headgate proxy-config`. Nothing, if this is intended.',
  ),
  'defaults-lost': error(
    'The section `defaults headgate` stands after other `defaults` of HAProxy. Sections that follow inherit from it, and it is empty.',
    'Put the part for the section `global` at the first `global` of the file, before all `defaults`.',
  ),
  'checks-logged': note(
    'HAProxy logs each check besides the request.',
    'HAProxy logs the checks of its Lua client wherever `global` has a `log` line of level info. For one line a request, move that line into your `defaults` in place of `log global`. If your `defaults` have it already, print the parts for `global` and `end` again.',
  ),
  'authorizer-excluded': error(
    'Two objects name an authorizer for the same requests, and the proxy asks only one: an Ingress has one `auth-url`, a target of Envoy Gateway one SecurityPolicy, a workload of Istio one CUSTOM provider, a virtual host of Contour one extension service.',
    WAY_OUT,
  ),
  'other-authorizer': warning(
    'An object of the file asks another authorizer, so its requests have no limits.',
    `Do nothing if they shall have none. ${WAY_OUT}`,
  ),
  'proxy-file': fine('The file was examined.'),
} as const satisfies Readonly<Record<string, RuleText>>;

export const found = diagnosticMaker(PROXY_FILE_FINDINGS);
