export const NOTE_RULES = {
  'approximate-limit': {
    meaning:
      'How many requests pass a `sliding-window-counter` or a `fixed-window` at a window boundary.',
    remedy: 'Use `sliding-window-log` if that is too many.',
  },
  'bucket-bursts': {
    meaning: 'How many units pass a `token-bucket` within its window.',
    remedy: 'Lower the `burst` if that is too many.',
  },
  'root-path-only': {
    meaning: 'A policy matches `path: /`, which is the home page alone.',
    remedy: 'Write `/*` if you mean every path.',
  },
  'private-trust': {
    meaning: 'Every machine of your private networks may report client addresses.',
    remedy: 'Name the networks of the proxies if other machines share these networks.',
  },
  'header-from-proxy': {
    meaning: 'headgate believes an address in a header because a trusted proxy passes it on.',
    remedy:
      'Make sure that the proxy sets or removes the header, or name the networks of the CDN that sets it.',
  },
  'shipped-cloudflare-list-old': {
    meaning:
      'Same as `cloudflare-list-old`, for the list that came with headgate. The policy file is not at fault, so this is only a note.',
    remedy:
      'Update headgate. Or compare the list with <https://www.cloudflare.com/ips/>, update `checked` in a copy, and name the copy in `HEADGATE_CLOUDFLARE_RANGES`.',
  },
  'policies-not-tried': {
    meaning:
      'The file has more than 500 policies. Only the first 500 are tested for matches and spellings, which takes about a second.',
    remedy: 'None is needed.',
  },
  'ratelimit-folder-not-entered': {
    meaning:
      'A directory of rate limit files has a symbolic link to a directory, or more than 16 directories in each other. headgate reads no file there.',
    remedy: 'Put the files into the directory itself.',
  },
} as const;
