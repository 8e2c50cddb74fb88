export const WARNING_RULES = {
  'policy-never-matches': {
    meaning: 'More specific policies match every request that this policy matches.',
    remedy: 'Remove it, unless Envoy routes name it.',
  },
  'method-never-sent': {
    meaning: 'A policy matches a method that no client sends.',
    remedy: 'Correct the method.',
  },
  'lax-spelling': {
    meaning:
      'Only laxer policies match other spellings of a path, and some servers treat these spellings as the same path.',
    remedy: 'Leave `matching.case_sensitive` off, or let the strict policy match more.',
  },
  'path-info': {
    meaning:
      'A path ends in a file that servers execute, such as `/login.php`. Servers execute it for `/login.php/x` too, and another policy matches that.',
    remedy: 'Write `/login.php/*`. It matches `/login.php` too, and both share one counter.',
  },
  'limit-never-binds': {
    meaning:
      'Another limit of the policy denies every request that this limit would deny. Reported only if this is certain: for exact limits with the same `per`.',
    remedy: 'Remove it, or correct its number or window.',
  },
  'approximate-small-limit': {
    meaning:
      'A `sliding-window-counter`, or a `fixed-window` that is not one by the calendar, has a limit below 50. At a window boundary about twice as many requests pass.',
    remedy: 'Use `sliding-window-log`, which is exact.',
  },
  'unsafe-trust': {
    meaning:
      'A trusted or exempt range has more public addresses than any single operator. Addresses of other people are among them.',
    remedy: 'Name the networks of your proxies or your CDN.',
  },
  'host-bits-set': {
    meaning:
      'A range such as `10.1.2.3/8` does not start at its network address. It means all of `10.0.0.0/8`.',
    remedy: 'Write the network, or the address without a prefix.',
  },
  'networks-too-narrow': {
    meaning:
      'Limits count IPv6 addresses by more than 64 bits, so each address of one customer network is another client.',
    remedy: 'Count 64 bits or fewer, or add a wider network with a higher factor.',
  },
  'exempt-trusted-proxy': {
    meaning:
      'An exempt address is in `identity.trusted_proxies`. Many clients share the address of a proxy, so a trusted proxy is never exempt, and the entry does nothing for it.',
    remedy:
      'Name only your proxies in `identity.trusted_proxies`, not the whole network. For loopback, exempt an API key instead.',
  },
  'loopback-exempt': {
    meaning:
      'A loopback address is exempt. If another process on the same machine connects to your proxy, such as a tunnel, all of its clients have this address and no limit applies to them.',
    remedy: 'Remove the entry, or exempt an API key instead.',
  },
  'credentials-as-user': {
    meaning:
      '`identity.user.header` is `authorization`, which clients set themselves. A client that changes its value counts as another user.',
    remedy:
      'Name a header that your authenticating proxy sets, such as `x-user`. For bearer tokens, set `identity.api_key.header: authorization` instead.',
  },
  'keys-not-read': {
    meaning: 'API keys are listed, and `identity.sources` does not list `api_key`.',
    remedy: 'Add it to the sources, or remove the keys.',
  },
  'plan-unknown': {
    meaning: 'A listed key has a plan, and no policy has limits for this plan.',
    remedy: 'Correct the name of the plan.',
  },
  'plan-unheld': {
    meaning: 'A policy has limits for a plan, and no listed key has this plan.',
    remedy: 'Correct the name of the plan, or remove it.',
  },
  'plan-below-none': {
    meaning:
      'A limit of a plan is lower than what a client without a key gets. Clients of the plan get more if they leave out their key.',
    remedy: 'Raise the limit of the plan, or lower that of the policy.',
  },
  'exempt-shadows-block': {
    meaning: 'A blocked client is exempt too. Exempt wins over block.',
    remedy: 'Remove one of the entries, or make the exemption narrower.',
  },
  'entry-expired': {
    meaning: 'An entry of `exempt` or `block` has expired and has no effect.',
    remedy: 'Remove it.',
  },
  'cloudflare-list-old': {
    meaning:
      'The file names `cf_connecting_ip` or `cloudflare`, and the list that `HEADGATE_CLOUDFLARE_RANGES` names was checked more than 90 days ago.',
    remedy: 'Compare the list with <https://www.cloudflare.com/ips/>, and update its `checked`.',
  },
  'no-trusted-proxy': {
    meaning:
      'No proxy is trusted to report client addresses, so all clients of a proxy share one counter.',
    remedy:
      'Name the proxies in `identity.trusted_proxies`, or leave the key out. Its default is `[loopback]`.',
  },
  'ratelimit-without-effect': {
    meaning:
      'A key of a rate limit file is known, and has no effect at this place. envoyproxy/ratelimit silently ignores it.',
    remedy: 'Move it to the place that the message names, or remove it.',
  },
  'ratelimit-repeated-key': {
    meaning: 'A key of a rate limit file is repeated in one map. The last one counts.',
    remedy: 'Keep one of them.',
  },
  'ratelimit-second-document': {
    meaning: 'A rate limit file has more than one YAML document. Only the first one is read.',
    remedy: 'Write a file for each document.',
  },
  'ratelimit-always-denied': {
    meaning: 'A limit has no `requests_per_unit`. It is 0 then, so every request is denied.',
    remedy: 'Add `requests_per_unit`. Write 0 if you mean it.',
  },
  'ratelimit-never-matches': {
    meaning: 'A wildcard that comes first matches everything that this descriptor matches.',
    remedy: 'Move the narrower wildcard up, or remove the descriptor.',
  },
  'ratelimit-replaces-unknown': {
    meaning: 'A limit replaces a name that no limit of the domain has.',
    remedy: 'Correct the name, or add a `name` to the limit that you mean.',
  },
  'ratelimit-no-limit': {
    meaning:
      'A descriptor has neither `rate_limit` nor `descriptors`. Requests that match it are not limited.',
    remedy: 'Add a `rate_limit`. If you mean no limit, write `unlimited: true`.',
  },
  'ratelimit-fixed-window': {
    meaning:
      'A limit is above 1,000,000, or has a unit longer than 31 days. headgate counts it in fixed windows, so up to twice as much can pass around the end of a window.',
    remedy: 'None is needed. `headgate: { algorithm: fixed-window }` says that you know.',
  },
} as const;
