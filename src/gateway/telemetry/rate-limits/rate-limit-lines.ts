import { type LogLines, MOST_LISTED, ONE_A_MINUTE } from '../log/log-line.ts';

const runbook = 'HeadgateRateLimitsNotCurrent';

export const RATE_LIMIT_LINES = {
  rate_limits_loaded: {
    level: 'info',
    message: "limits for Envoy's rate limit filter were loaded",
    fields: { limits: 'how many there are, unlimited ones included' },
    meaning: 'They apply from now on.',
  },
  rate_limits_refused: {
    level: 'error',
    message: "limits for Envoy's rate limit filter have mistakes: the ones in force stay",
    fields: {
      mistakes: `a list of the first ${MOST_LISTED}, each as \`file:line:column: path: what is wrong\``,
      more: 'how many more there are',
    },
    meaning:
      'Correct them; for files, `headgate check` lists them all. A control plane gets them as the reason why its limits were refused.',
    runbook,
  },
  rate_limits_missing: {
    level: 'warn',
    message: 'no limits are in force yet: the control plane has not sent any',
    fields: {
      calls:
        "what happens to calls of Envoy's rate limit filter until then: `pass` (uncounted) or `fail`",
    },
    meaning:
      'Envoy Gateway sends none before there is a Gateway. `HEADGATE_RATELIMIT_BEFORE_LIMITS` chooses what happens until then. The line comes again each minute.',
  },
  control_plane_connected: {
    level: 'info',
    message: 'the control plane answers',
    fields: {},
    meaning: 'Its limits apply as soon as it sends them.',
  },
  control_plane_lost: {
    level: 'warn',
    message: 'the control plane does not answer: its last limits stay in force',
    fields: {
      cause: 'what happened',
      retry_in_ms: 'milliseconds until headgate connects again',
    },
    meaning: 'Check its address, its certificates and its own log.',
    atMost: ONE_A_MINUTE,
    runbook,
  },
  last_good_rate_limits_used: {
    level: 'warn',
    message: 'the control plane does not answer: its limits of an earlier run apply',
    fields: {},
    meaning: 'They come from the file that `HEADGATE_RATELIMIT_LAST_GOOD` names.',
    runbook,
  },
} as const satisfies LogLines;
