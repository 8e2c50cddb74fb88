import { error, note, warning } from './rule-text.ts';

export const RATELIMIT_RULES = {
  'ratelimit-domain-twice': error(
    'Two rate limit files have the same domain.',
    'Put its descriptors into one file, or merge the files of a domain: `--merge-domains`, or `MERGE_DOMAIN_CONFIG` of the service.',
  ),
  'ratelimit-descriptor-twice': error(
    'Two descriptors of one list have the same key and value, joined by an underscore. `key: a_b` and `key: a, value: b` are the same.',
    'Keep one of them, or put the descriptors of both into one.',
  ),
  'ratelimit-unlimited-with-unit': error(
    'A limit is `unlimited` and has a unit.',
    'Remove one of the two.',
  ),
  'ratelimit-replaces-itself': error(
    'A limit replaces its own name.',
    'Correct the name in `replaces`, or remove it.',
  ),
  'ratelimit-share-without-wildcard': error(
    'A descriptor has `share_threshold`, and neither its key nor its value has a `*`.',
    'Write a value with a `*`, or remove `share_threshold`.',
  ),
  'ratelimit-too-large': error(
    'The rate limit files have more than 1,000,000 descriptors, are nested deeper than 32 levels, or the names of their limits take too much memory.',
    'Use wildcards or descriptors without a value, or shorter keys.',
  ),
  'ratelimit-without-effect': warning(
    'A key of a rate limit file is known, and has no effect at this place. envoyproxy/ratelimit silently ignores it.',
    'Move it to the place that the message names, or remove it.',
  ),
  'ratelimit-repeated-key': warning(
    'A key of a rate limit file is repeated in one map. The last one counts.',
    'Keep one of them.',
  ),
  'ratelimit-second-document': warning(
    'A rate limit file has more than one YAML document. Only the first one is read.',
    'Write a file for each document.',
  ),
  'ratelimit-always-denied': warning(
    'A limit has no `requests_per_unit`. It is 0 then, so every request is denied.',
    'Add `requests_per_unit`. Write 0 if you mean it.',
  ),
  'ratelimit-never-matches': warning(
    'A wildcard that comes first matches everything that this descriptor matches.',
    'Move the narrower wildcard up, or remove the descriptor.',
  ),
  'ratelimit-replaces-unknown': warning(
    'A limit replaces a name that no limit of the domain has.',
    'Correct the name, or add a `name` to the limit that you mean.',
  ),
  'ratelimit-no-limit': warning(
    'A descriptor has neither `rate_limit` nor `descriptors`. Requests that match it are not limited.',
    'Add a `rate_limit`. If you mean no limit, write `unlimited: true`.',
  ),
  'ratelimit-fixed-window': warning(
    'A limit is above 1,000,000, or has a unit longer than 31 days. headgate counts it in fixed windows, so up to twice as much can pass around the end of a window.',
    'None is needed. `headgate: { algorithm: fixed-window }` says that you know.',
  ),
  'ratelimit-folder-not-entered': note(
    'A directory of rate limit files has a symbolic link to a directory, or more than 16 directories in each other. headgate reads no file there.',
    'Put the files into the directory itself.',
  ),
} as const;
