/** What `headgate doctor --through` finds. */
import { type FindingText, of, PRINT_AGAIN, runError, runWarning } from './finding-text.ts';

export const THROUGH_FINDINGS = {
  'no-answer': runError(
    'Nothing answers at the URL of `--through`.',
    'Start the proxy, or correct the URL.',
  ),
  'not-limited': runError(
    'The response has no `X-RateLimit-*` header: the proxy does not ask headgate for this URL, or NGINX does not add the headers, because the location has own `add_header` lines. Traefik and APISIX show them on denials only.',
    'Check that the location or route of this URL has the check, and that the proxy has loaded the file.',
  ),
  'headers-not-shown': of('info', 'running')(
    'The gateway checks requests for this URL, and the answers to allowed ones have no `X-RateLimit-*` headers: Traefik and APISIX show them on denials only, and NGINX where the `add_header` lines of the part are.',
    'Add the `add_header` lines of the part for locations where the application answers. Nothing, if clients need no such headers.',
  ),
  'gateway-unreachable': runError(
    'The proxy could not reach headgate, so requests are not counted or are refused with 503.',
    'Start the gateway. Check the address and the secret in the file of the proxy.',
  ),
  'answered-403': runError(
    'The answer is a 403 without `X-RateLimit-*` headers: headgate refuses the proxy because its secret is missing or wrong, or the proxy or the application has answered. The finding says which one it is if the ops server of the gateway answers.',
    'Compare `HEADGATE_PROXY_SECRET` with the file of the proxy. If that fits, try a path that the application answers without a login.',
  ),
  'client-refused': runError(
    'headgate refuses this client with 403, for example because it is blocked.',
    'See `block` in the policy file, and `headgate overrides`. If this client shall pass: `headgate clients unblock`.',
  ),
  'answered-503': runError(
    'The answer is the 503 for requests that cannot be checked, and the gateway runs. Either the proxy asks another address, or the answer of the gateway came too late, or a part of headgate 0.2 for NGINX turns a 401 of the site, as for HTTP Basic authentication, into this 503.',
    'Examine the file of the proxy: `headgate doctor --proxy-file FILE`.',
  ),
  'answered-by-site': runWarning(
    'The site itself has answered 401 or 503, so the answer shows nothing of limits. That is no fault of headgate.',
    'Name a URL that the site answers otherwise. For HTTP Basic authentication: `--through http://USER:PASSWORD@HOST/`.',
  ),
  'denial-lost': runError(
    'headgate denied a request, and the client got another answer, without `Retry-After`. In NGINX, an `error_page` of the site for 403 takes the place of the one of headgate.',
    'Examine the file of the proxy: `headgate doctor --proxy-file FILE` names the line.',
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
  'counted-twice': runWarning(
    'One request lowers `X-RateLimit-Remaining` by more than the cost of a policy: the proxy checks it more than once, or two proxies in a row check it. So clients get a part of their limits only.',
    'Leave one check on the way of a request: one `import headgate` in Caddy, one filter or middleware, in one of the proxies. Nothing, if other clients send requests from this address all the time.',
  ),
  'clock-differs': runWarning(
    'The clock of the proxy and that of this machine differ by more than 5 seconds.',
    'Synchronize both with NTP.',
  ),
  'denied-now': of('info', 'running')('This client is denied now, with a 429 as it should be.', ''),
  through: of('fine', 'running')('What a client sees.', ''),
} as const satisfies Readonly<Record<string, FindingText>>;
