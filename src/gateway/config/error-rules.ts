export const ERROR_RULES = {
  'unreadable-file': {
    meaning:
      'A file does not exist, cannot be read, is not a regular file or is larger than 16 MiB.',
    remedy: 'Correct its name or its permissions.',
  },
  'invalid-yaml': {
    meaning:
      'The text is not YAML 1.2 that headgate can use. Its syntax is wrong, a key is repeated, an alias has no anchor, or it is too large.',
    remedy: 'Correct it at the place named.',
  },
  'invalid-value': {
    meaning: 'A value has the wrong type, form or size.',
    remedy:
      'Write a value of the form that the message names. `docs/policy-file.md` has an example of each key.',
  },
  'missing-key': {
    meaning: 'A required key is missing.',
    remedy:
      'Add the key to the map at the place named, with a value as the message shows it. `docs/policy-file.md` has an example of each key.',
  },
  'unknown-key': {
    meaning: 'A key is not known at this place.',
    remedy: 'Use the spelling that the message suggests, or remove the key.',
  },
  'invalid-cloudflare-list': {
    meaning: 'The file that `HEADGATE_CLOUDFLARE_RANGES` names is not a list of networks.',
    remedy: 'Start from a copy of `config/cloudflare-ranges.yaml`.',
  },
  'range-of-everyone': {
    meaning: 'A range has a prefix of 0 bits, so it contains every address.',
    remedy: 'Name the networks you mean.',
  },
  'name-taken': {
    meaning: 'Two policies have the same name, so they would share their counters.',
    remedy: 'Rename one of them.',
  },
  'policies-tie': {
    meaning: 'Two policies match the same requests, and neither is more specific.',
    remedy: 'Make one of them more specific, or set `always: true` to apply both.',
  },
  'limit-twice': {
    meaning:
      'Two limits of a policy count the same requests: they have the same `per`, window and algorithm.',
    remedy: 'Keep the lower one.',
  },
  'cost-above-limit': {
    meaning: 'One request costs more than the whole limit, so every request would be denied.',
    remedy: 'Lower the `cost`, or raise the limit or its `burst`.',
  },
  'burst-without-bucket': {
    meaning: 'A limit has a `burst` and is not a token bucket.',
    remedy: 'Add `algorithm: token-bucket`, or remove the `burst`.',
  },
  'bucket-too-slow': {
    meaning: 'A token bucket takes longer than 31 days to fill.',
    remedy: 'Lower the `burst`, or raise the rate.',
  },
  'zone-without-calendar': {
    meaning: 'A limit has a `zone`, and its window is not a day, week, month or year.',
    remedy: 'Name the window, as in `10000/month`, or remove the `zone`.',
  },
  'calendar-not-fixed': {
    meaning:
      'A limit has a window by the calendar and another algorithm than `fixed-window`, the only one that can count it.',
    remedy: 'Remove the `algorithm`, or write a window that slides, such as `31d`.',
  },
  'year-of-addresses': {
    meaning:
      'A limit per year is not `per: global`. All other limits may count addresses, whose pseudonyms change every 31 days.',
    remedy: 'Write a window of a month at most, or `per: global`.',
  },
  'per-without-source': {
    meaning: 'A limit is per `user` or `api_key`, and `identity.sources` does not list it.',
    remedy: 'Add it to `identity.sources`.',
  },
  'key-without-source': {
    meaning: 'An API key is exempt or blocked, and `identity.sources` does not list `api_key`.',
    remedy: 'Add `api_key` to `identity.sources`.',
  },
  'key-unknown': {
    meaning: 'An API key is exempt or blocked, and no key with this id is listed.',
    remedy: 'Correct the id, or list the key.',
  },
  'key-twice': {
    meaning: 'An API key is listed twice.',
    remedy: 'Keep one of the entries.',
  },
  'source-twice': {
    meaning: 'An identity source is listed twice.',
    remedy: 'Keep the first one.',
  },
  'source-never-reached': {
    meaning:
      'An identity source is listed after `ip`. Every request has an `ip`, so later sources are never used.',
    remedy: 'Put `ip` last.',
  },
  'verified-header-unused': {
    meaning: 'No limit is per this verified header. Often one of the two names is misspelled.',
    remedy: 'Correct the name, or remove it.',
  },
  'ratelimit-domain-twice': {
    meaning: 'Two rate limit files have the same domain.',
    remedy:
      'Put its descriptors into one file, or merge the files of a domain: `--merge-domains`, or `MERGE_DOMAIN_CONFIG` of the service.',
  },
  'ratelimit-descriptor-twice': {
    meaning:
      'Two descriptors of one list have the same key and value, joined by an underscore. `key: a_b` and `key: a, value: b` are the same.',
    remedy: 'Keep one of them, or put the descriptors of both into one.',
  },
  'ratelimit-unlimited-with-unit': {
    meaning: 'A limit is `unlimited` and has a unit.',
    remedy: 'Remove one of the two.',
  },
  'ratelimit-replaces-itself': {
    meaning: 'A limit replaces its own name.',
    remedy: 'Correct the name in `replaces`, or remove it.',
  },
  'ratelimit-share-without-wildcard': {
    meaning: 'A descriptor has `share_threshold`, and neither its key nor its value has a `*`.',
    remedy: 'Write a value with a `*`, or remove `share_threshold`.',
  },
  'ratelimit-too-large': {
    meaning:
      'The rate limit files have more than 1,000,000 descriptors, are nested deeper than 32 levels, or the names of their limits take too much memory.',
    remedy: 'Use wildcards or descriptors without a value, or shorter keys.',
  },
} as const;
