/** Rules whose violation keeps a file from being loaded. */
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
    remedy: 'The message says what the value must be.',
  },
  'missing-key': {
    meaning: 'A required key is missing.',
    remedy: 'Add it.',
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
} as const;
