/** Log lines about the policy file. */
import { type LogLines, MOST_LISTED } from '../log/log-line.ts';

const runbook = 'HeadgatePolicyFileRefused';

export const POLICY_FILE_LINES = {
  policies_loaded: {
    level: 'info',
    message: 'the policy file was reloaded',
    fields: { policies: 'the number of policies, `default` included' },
    meaning: 'The new policies apply.',
    runbook,
  },
  policies_removed: {
    level: 'warn',
    message: 'policies were removed: they no longer limit anything',
    fields: {
      policies: `a list of the names of the first ${MOST_LISTED}`,
      more: 'how many more there are',
    },
    meaning:
      'The reloaded policy file does not have them. If that was a mistake, restore the file. Replace policy files by renaming, so that headgate never reads half of one.',
    runbook,
  },
  policies_refused: {
    level: 'error',
    message: 'the policy file has mistakes: the previous policies stay in force',
    fields: {
      mistakes: `a list of the first ${MOST_LISTED}, each as \`file:line:column: path: what is wrong\``,
      more: 'how many more there are',
    },
    meaning: 'Correct them; `headgate check` lists them all.',
    runbook,
  },
  policy_note: {
    level: 'warn',
    fields: {},
    meaning:
      'Something to know about a valid policy file, at the start and after each reload; `headgate check` prints it as well.',
  },
} as const satisfies LogLines;
