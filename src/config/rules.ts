/**
 * What `headgate check` finds, by rule. Ids are for scripts and annotations, so they stay as they are once they are
 * out. `docs/check.md` is made from this.
 */

export type Severity = 'error' | 'warning' | 'info';

export interface RuleText {
  readonly severity: Severity;
  readonly meaning: string;
  readonly remedy: string;
}

/** Loading refuses errors; of the others, it tells of limits that are not exact, and of nothing else. */
export const RULES = {
  'unreadable-file': {
    severity: 'error',
    meaning: 'A file does not exist, cannot be read, is no regular file or has more than 16 MiB.',
    remedy: 'Correct its name or its permissions.',
  },
  'invalid-yaml': {
    severity: 'error',
    meaning:
      'The text is no YAML 1.2 that can be used: its syntax, a key that is there twice, an alias of nothing, its size.',
    remedy: 'Mend it at the place named.',
  },
  'invalid-value': {
    severity: 'error',
    meaning: 'A value of the wrong kind, form or size.',
    remedy: 'The message has what it must be.',
  },
  'missing-key': {
    severity: 'error',
    meaning: 'A key that must be there is not.',
    remedy: 'Add it.',
  },
  'unknown-key': {
    severity: 'error',
    meaning: 'A key that means nothing there.',
    remedy: 'Spell it as the message has it, or remove it.',
  },
  'invalid-cloudflare-list': {
    severity: 'error',
    meaning: 'The file that `HEADGATE_CLOUDFLARE_RANGES` names is no list of networks.',
    remedy: 'Begin with a copy of `config/cloudflare-ranges.yaml`.',
  },
  'range-of-everyone': {
    severity: 'error',
    meaning: 'A range with a prefix of 0 bits: trust or a list that goes for all there are.',
    remedy: 'Name the networks that are meant.',
  },
  'name-taken': {
    severity: 'error',
    meaning: 'Two policies have one name, and would share their counts.',
    remedy: 'Rename one.',
  },
  'policies-tie': {
    severity: 'error',
    meaning: 'Two policies match the same requests, and no rule prefers one.',
    remedy: 'Narrow one of them, or set `always: true` to apply both.',
  },
  'limit-twice': {
    severity: 'error',
    meaning: 'Two limits of a policy count the same: same `per`, window and algorithm.',
    remedy: 'Keep the lower one.',
  },
  'cost-above-limit': {
    severity: 'error',
    meaning: 'A request costs more than a limit ever has: none would pass.',
    remedy: 'Lower the `cost`, or raise the limit or its `burst`.',
  },
  'burst-without-bucket': {
    severity: 'error',
    meaning: 'A `burst` at a limit that is no token bucket.',
    remedy: 'Add `algorithm: token-bucket`, or remove it.',
  },
  'bucket-too-slow': {
    severity: 'error',
    meaning: 'A token bucket that takes longer than 31 days to fill.',
    remedy: 'Lower the `burst`, or raise the rate.',
  },
  'per-without-source': {
    severity: 'error',
    meaning: 'A limit per `user` or `api_key`, by which nobody is known.',
    remedy: 'Add it to `identity.sources`.',
  },
  'key-without-source': {
    severity: 'error',
    meaning: 'An API key is exempt or blocked, and nobody is known by one.',
    remedy: 'Add `api_key` to `identity.sources`.',
  },
  'key-unknown': {
    severity: 'error',
    meaning: 'An API key is exempt or blocked, and no key with this id is listed.',
    remedy: 'Correct the id, or list the key.',
  },
  'key-twice': {
    severity: 'error',
    meaning: 'A key is listed twice.',
    remedy: 'Keep one of the entries.',
  },
  'source-twice': {
    severity: 'error',
    meaning: 'A source of identity is listed twice.',
    remedy: 'Keep the first.',
  },
  'source-never-reached': {
    severity: 'error',
    meaning: 'A source of identity stands after `ip`, which every request has.',
    remedy: 'Put `ip` last.',
  },
  'verified-header-unused': {
    severity: 'error',
    meaning:
      'A verified header that no limit is per, mostly one that is spelled differently there.',
    remedy: 'Correct its name, or remove it.',
  },

  'policy-never-matches': {
    severity: 'warning',
    meaning: 'Whatever a policy matches is matched more closely by others.',
    remedy: 'Remove it, unless routes of Envoy name it.',
  },
  'method-never-sent': {
    severity: 'warning',
    meaning: 'A policy is for a method that no client sends.',
    remedy: 'Correct the method.',
  },
  'lax-spelling': {
    severity: 'warning',
    meaning:
      'Other spellings of a path, which some servers take for it, are held to laxer policies alone.',
    remedy: 'Leave `matching.case_sensitive` off, or have the strict policy match more.',
  },
  'path-info': {
    severity: 'warning',
    meaning:
      'A path ends in a file that servers execute, such as `/login.php`. They execute it for `/login.php/x` as well, which another policy decides.',
    remedy: 'Write `/login.php/*`: it also matches `/login.php`, and both share one budget.',
  },
  'limit-never-binds': {
    severity: 'warning',
    meaning:
      'Another limit of the policy denies whatever this one would. Told only where that is certain: exact limits with the same `per`.',
    remedy: 'Remove it, or correct its number or window.',
  },
  'approximate-small-limit': {
    severity: 'warning',
    meaning:
      'A `sliding-window-counter` for fewer than 50: what passes at a boundary is about twice as many.',
    remedy: 'Use `sliding-window-log`, which is exact.',
  },
  'unsafe-trust': {
    severity: 'warning',
    meaning:
      'A range that is trusted, or exempt, has more public addresses than any one operator: strangers are among them.',
    remedy: 'Name the networks of your proxies or your CDN.',
  },
  'host-bits-set': {
    severity: 'warning',
    meaning:
      'A range such as `10.1.2.3/8` begins within its network: it means all of `10.0.0.0/8`.',
    remedy: 'Write the network, or the address alone.',
  },
  'networks-too-narrow': {
    severity: 'warning',
    meaning:
      'Limits count IPv6 addresses by more than 64 bits, and whoever has one network has a client for each of its addresses.',
    remedy: 'Count 64 bits or fewer, or add a wider network with a higher factor.',
  },
  'keys-not-read': {
    severity: 'warning',
    meaning: 'Keys are listed, and `identity.sources` has no `api_key`.',
    remedy: 'Add it, or remove the keys.',
  },
  'plan-unknown': {
    severity: 'warning',
    meaning: 'A listed key has a plan that no policy has limits for.',
    remedy: 'Correct the name of the plan.',
  },
  'plan-unheld': {
    severity: 'warning',
    meaning: 'A policy has limits for a plan that no listed key has.',
    remedy: 'Correct the name of the plan, or remove it.',
  },
  'exempt-shadows-block': {
    severity: 'warning',
    meaning: 'Whoever is blocked is exempt as well, and exemptions come first.',
    remedy: 'Remove one of the entries, or narrow the exemption.',
  },
  'entry-expired': {
    severity: 'warning',
    meaning: 'An entry of `exempt` or `block` that means nothing any more.',
    remedy: 'Remove it.',
  },
  'cloudflare-list-old': {
    severity: 'warning',
    meaning:
      'The file names `cf_connecting_ip` or `cloudflare`, and the list that `HEADGATE_CLOUDFLARE_RANGES` names was checked over 90 days ago.',
    remedy: 'Compare the list with <https://www.cloudflare.com/ips/>, and set `checked` in it.',
  },

  'approximate-limit': {
    severity: 'info',
    meaning: 'A `sliding-window-counter`, and what passes at a boundary.',
    remedy: 'Use `sliding-window-log` where that is too much.',
  },
  'bucket-bursts': {
    severity: 'info',
    meaning: 'A `token-bucket`, and the most that passes within its window.',
    remedy: 'Lower the `burst` where that is too much.',
  },
  'no-trusted-proxy': {
    severity: 'warning',
    meaning: 'No proxy may say who a client is, so all clients of a proxy share one counter.',
    remedy:
      'Name the proxies in `identity.trusted_proxies`, or leave it out: then it is `[loopback]`.',
  },
  'private-trust': {
    severity: 'info',
    meaning: 'Every machine of your private networks may say who a client is.',
    remedy: 'Name the networks of the proxies, where others share them.',
  },
  'header-from-proxy': {
    severity: 'info',
    meaning: 'An address in a header is believed because a trusted proxy passes it on.',
    remedy:
      'See that the proxy sets the header itself or removes it, or name the networks of the CDN that does.',
  },
  'shipped-cloudflare-list-old': {
    severity: 'info',
    meaning:
      'The same with the list that came with headgate: no mistake of the policy file, so no warning.',
    remedy:
      'Update headgate, or compare the list with <https://www.cloudflare.com/ips/> and set `checked` in a copy that `HEADGATE_CLOUDFLARE_RANGES` names.',
  },
  'policies-not-tried': {
    severity: 'info',
    meaning:
      'Only the first 500 policies are tried for matches and spellings, which takes a second.',
    remedy: 'None is needed.',
  },
} as const satisfies Readonly<Record<string, RuleText>>;

export type Rule = keyof typeof RULES;

export function severityOf(rule: Rule): Severity {
  return RULES[rule].severity;
}
