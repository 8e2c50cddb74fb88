import { error, note, warning } from './rule-text.ts';

export const POLICY_RULES = {
  'unreadable-file': error(
    'A file does not exist, cannot be read, is not a regular file or is larger than 16 MiB.',
    'Correct its name or its permissions.',
  ),
  'invalid-yaml': error(
    'The text is not YAML 1.2 that headgate can use. Its syntax is wrong, a key is repeated, an alias has no anchor, or it is too large.',
    'Correct it at the place named.',
  ),
  'invalid-value': error(
    'A value has the wrong type, form or size.',
    'Write a value of the form that the message names. `docs/policy-file.md` has an example of each key.',
  ),
  'missing-key': error(
    'A required key is missing.',
    'Add the key to the map at the place named, with a value as the message shows it. `docs/policy-file.md` has an example of each key.',
  ),
  'unknown-key': error(
    'A key is not known at this place.',
    'Use the spelling that the message suggests, or remove the key.',
  ),
  'invalid-cloudflare-list': error(
    'The file that `HEADGATE_CLOUDFLARE_RANGES` names is not a list of networks.',
    'Start from a copy of `config/cloudflare-ranges.yaml`.',
  ),
  'range-of-everyone': error(
    'A range has a prefix of 0 bits, so it contains every address.',
    'Name the networks you mean.',
  ),
  'name-taken': error(
    'Two policies have the same name, so they would share their counters.',
    'Rename one of them.',
  ),
  'policies-tie': error(
    'Two policies match the same requests, and neither is more specific.',
    'Make one of them more specific, or set `always: true` to apply both. Of two policies for the same MCP calls, keep one.',
  ),
  'path-twice': error(
    'A policy lists two paths that match the same requests, such as `/users/:id` and `/users/:name`, or `/login` and `/LOGIN`.',
    'Keep one of them.',
  ),
  'mcp-without-none': error(
    'A path has policies for MCP calls, and none for calls whose headers do not say what they are. Clients before MCP 2026-07-28 send such calls, and so does everybody who leaves out the headers.',
    'Add the policy that the message shows.',
  ),
  'limit-twice': error(
    'Two limits of a policy count the same requests: they have the same `per`, window, algorithm and unit.',
    'Keep the lower one.',
  ),
  'cost-above-limit': error(
    'One request costs or reserves more than the whole limit, so every request would be denied.',
    'Lower the `cost` or `reserve`, or raise the limit or its `burst`.',
  ),
  'settle-token': error(
    'The settle token of a request would be longer than 600 characters.',
    'Give fewer limits `reserve` or `refund`, or count fewer `ipv6_prefixes`.',
  ),
  'burst-without-bucket': error(
    'A limit has a `burst` and is not a token bucket.',
    'Add `algorithm: token-bucket`, or remove the `burst`.',
  ),
  'bucket-too-slow': error(
    'A token bucket takes longer than 31 days to fill.',
    'Lower the `burst`, or raise the rate.',
  ),
  'zone-without-calendar': error(
    'A limit has a `zone`, and its window is not a day, week, month or year.',
    'Name the window, as in `10000/month`, or remove the `zone`.',
  ),
  'calendar-not-fixed': error(
    'A limit has a window by the calendar and another algorithm than `fixed-window`, the only one that can count it.',
    'Remove the `algorithm`, or write a window that slides, such as `31d`.',
  ),
  'year-of-addresses': error(
    'A limit per year is not `per: global`. All other limits may count addresses, whose pseudonyms change every 31 days.',
    'Write a window of a month at most, or `per: global`.',
  ),
  'per-without-source': error(
    'A limit is per `user` or `api_key`, and `identity.sources` does not list it.',
    'Add it to `identity.sources`.',
  ),
  'key-without-source': error(
    'An API key is exempt or blocked, and `identity.sources` does not list `api_key`.',
    'Add `api_key` to `identity.sources`.',
  ),
  'key-unknown': error(
    'An API key is exempt or blocked, and no key with this id is listed.',
    'Correct the id, or list the key.',
  ),
  'key-twice': error('An API key is listed twice.', 'Keep one of the entries.'),
  'source-twice': error('An identity source is listed twice.', 'Keep the first one.'),
  'plan-not-verified': error(
    '`identity.plan` is a header, and clients may set this header.',
    'Let the proxy set or remove the header, and list it in `identity.verified_headers`.',
  ),
  'source-never-reached': error(
    'An identity source is listed after `ip`. Every request has an `ip`, so later sources are never used.',
    'Put `ip` last.',
  ),
  'verified-header-unused': error(
    'No limit is per this verified header. Often one of the two names is misspelled.',
    'Correct the name, or remove it.',
  ),
  'policy-never-matches': warning(
    'More specific policies match every request that this policy matches.',
    'Remove it, unless Envoy routes name it.',
  ),
  'method-never-sent': warning(
    'A policy matches a method that no client sends.',
    'Correct the method.',
  ),
  'lax-spelling': warning(
    'Only laxer policies match other spellings of a path, and some servers treat these spellings as the same path.',
    'Leave `matching.case_sensitive` off, or let the strict policy match more.',
  ),
  'path-info': warning(
    'A path ends in a file that servers execute, such as `/login.php`. Servers execute it for `/login.php/x` too, and another policy matches that.',
    'Write `/login.php/*`. It matches `/login.php` too, and both share one counter.',
  ),
  'limit-never-binds': warning(
    'Another limit of the policy denies every request that this limit would deny. Reported only if this is certain: for exact limits with the same `per`.',
    'Remove it, or correct its number or window.',
  ),
  'approximate-small-limit': warning(
    'A `sliding-window-counter`, or a `fixed-window` that is not one by the calendar, has a limit below 50. At a window boundary about twice as many requests pass.',
    'Use `sliding-window-log`, which is exact.',
  ),
  'mcp-none-lax': warning(
    'A client that leaves out the headers of MCP may send more calls than a policy of a tool allows.',
    'Lower the limits, or write `mcp: { none: strict }`: then such calls count for the policies of tools, too.',
  ),
  'mcp-method-unknown': warning(
    'Clients send this method in no revision of MCP.',
    'Correct it, unless it belongs to an extension.',
  ),
  'mcp-half-verified': warning(
    '`identity.verified_headers` lists one of `mcp-method` and `mcp-name`, and headgate believes only a proxy that compares both with the body of every call.',
    'List both if each call passes an Envoy with all parts of `deploy/envoy/mcp.yaml`, or a proxy that compares as much. Otherwise neither.',
  ),
  'unsafe-trust': warning(
    'A trusted or exempt range has more public addresses than any single operator. Addresses of other people are among them.',
    'Name the networks of your proxies or your CDN.',
  ),
  'host-bits-set': warning(
    'A range such as `10.1.2.3/8` does not start at its network address. It means all of `10.0.0.0/8`.',
    'Write the network, or the address without a prefix.',
  ),
  'networks-too-narrow': warning(
    'Limits count IPv6 addresses by more than 64 bits, so each address of one customer network is another client.',
    'Count 64 bits or fewer, or add a wider network with a higher factor.',
  ),
  'exempt-trusted-proxy': warning(
    'An exempt address is in `identity.trusted_proxies`. Many clients share the address of a proxy, so a trusted proxy is never exempt, and the entry does nothing for it.',
    'Name only your proxies in `identity.trusted_proxies`, not the whole network. For loopback, exempt an API key instead.',
  ),
  'loopback-exempt': warning(
    'A loopback address is exempt. If another process on the same machine connects to your proxy, such as a tunnel, all of its clients have this address and no limit applies to them.',
    'Remove the entry, or exempt an API key instead.',
  ),
  'plan-below-none': warning(
    'A limit of a plan is lower than what a client without a key gets. Clients of the plan get more if they leave out their key.',
    'Raise the limit of the plan, or lower that of the policy.',
  ),
  'exempt-shadows-block': warning(
    'A blocked client is exempt too. Exempt wins over block.',
    'Remove one of the entries, or make the exemption narrower.',
  ),
  'entry-expired': warning(
    'An entry of `exempt` or `block` has expired and has no effect.',
    'Remove it.',
  ),
  'cloudflare-list-old': warning(
    'The file names `cf_connecting_ip` or `cloudflare`, and the list that `HEADGATE_CLOUDFLARE_RANGES` names was checked more than 90 days ago.',
    'Compare the list with <https://www.cloudflare.com/ips/>, and update its `checked`.',
  ),
  'no-trusted-proxy': warning(
    'No proxy is trusted to report client addresses, so all clients of a proxy share one counter.',
    'Name the proxies in `identity.trusted_proxies`, or leave the key out. Its default is `[loopback]`.',
  ),
  'approximate-limit': note(
    'How many requests pass a `sliding-window-counter` or a `fixed-window` at a window boundary.',
    'Use `sliding-window-log` if that is too many.',
  ),
  'bucket-bursts': note(
    'How many units pass a `token-bucket` within its window.',
    'Lower the `burst` if that is too many.',
  ),
  'options-without-preflights': note(
    'A policy names the method OPTIONS. It gets no preflights of browsers: they count for `default`, and for policies with `always: true`.',
    'Write `always: true` into a policy that is to limit preflights.',
  ),
  'root-path-only': note(
    'A policy matches `path: /`, which is the home page alone.',
    'Write `/*` if you mean every path.',
  ),
  'private-trust': note(
    'Every machine of your private networks may report client addresses.',
    'Name the networks of the proxies if other machines share these networks.',
  ),
  'header-from-proxy': note(
    'headgate believes an address in a header because a trusted proxy passes it on.',
    'Make sure that the proxy sets or removes the header, or name the networks of the CDN that sets it.',
  ),
  'shipped-cloudflare-list-old': note(
    'Same as `cloudflare-list-old`, for the list that came with headgate. The policy file is not at fault, so this is only a note.',
    'Update headgate. Or compare the list with <https://www.cloudflare.com/ips/>, update `checked` in a copy, and name the copy in `HEADGATE_CLOUDFLARE_RANGES`.',
  ),
  'policies-not-tried': note(
    'The policies of the file have more than 500 paths. Only those that come first are tested for matches and spellings, which takes about a second.',
    'None is needed.',
  ),
} as const;
