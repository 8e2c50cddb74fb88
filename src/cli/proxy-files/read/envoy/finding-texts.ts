/** What `headgate doctor` finds in files of Envoy only. */
import { configError, configWarning, of } from '../finding-text.ts';

export const ENVOY_FINDINGS = {
  'check-not-enforced': configWarning(
    'The ext_authz filter of Envoy checks only some requests, or passes those that headgate denies.',
    'Once every request shall be limited, remove `filter_enabled`, `filter_enabled_metadata`, `shadow_mode`, `disabled` and the matcher around the filter.',
  ),
  'check-timeout': configWarning(
    'headgate answers within 50 ms, with or without Redis. With a shorter timeout, Envoy gives up answers that come; with a long one or none, requests wait while a gateway hangs.',
    'Set it to 0.2s, as in the file of `headgate proxy-config`.',
  ),
  'request-id-from-client': configWarning(
    'headgate counts requests with one id once within two seconds, and the listener of Envoy lets clients choose the id. So they get free requests.',
    "Delete the line `x-headgate-request-id`, or over gRPC `request_id: x-request-id`. Or set `use_remote_address: true` and the `internal_address_config` of the printed part. With `preserve_external_request_id`, keep the line only if the load balancer overwrites each client's `X-Request-Id`.",
  ),
  'spelling-skips-check': configWarning(
    'A route of Envoy for a prefix or an expression has no check, or names a policy. Envoy compares paths as clients write them, so `/files/../login` takes the route for `/files/`, and an application may serve `/login`.',
    'Remove the setting, and give the paths a policy in the policy file, with `mode: off` if they shall have no limit: headgate reads all spellings. Or let the route match one `path`. Or set `normalize_path: true`, `merge_slashes: true` and `path_with_escaped_slashes_action: UNESCAPE_AND_REDIRECT` in the connection manager; applications then get the changed path.',
  ),
  'setting-without-filter': configError(
    'A `typed_per_filter_config` of Envoy has a setting of ext_authz for a name that no filter of the listener has. Envoy ignores it.',
    'Write the name of the filter. In printed parts it is `headgate.ext_authz`.',
  ),
  'shared-filter-name': configError(
    'Two filters of a listener of Envoy have one name, so a `typed_per_filter_config` for it changes both: a route that turns one check off turns off the other too.',
    "Give each filter its own name, also in `typed_per_filter_config`. The filters of headgate's parts have names that begin with `headgate.`.",
  ),
  'service-of-route': of('info', 'configuration')(
    'A route of Envoy sends its checks to its own service. Clients can crash Envoy 1.36 before 1.36.9, 1.37 before 1.37.5 and 1.38 before 1.38.3 with that (CVE-2026-47205).',
    'See `envoy --version`, and upgrade if it is one of these.',
  ),
} as const;
