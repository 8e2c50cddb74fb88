/** The exit codes, and what each says to whoever started headgate. */
export const EXIT_FAULT = 1;
export const EXIT_USAGE = 2;
export const EXIT_INVALID_CONFIG = 3;

export const EXIT_CODES: Readonly<Record<number, string>> = {
  0: 'Fine. After SIGTERM, too, when what was under way is finished.',
  [EXIT_FAULT]:
    'A fault: this Node is too old, a port is taken, a second signal ended it, the gateway is not alive (`healthcheck`), gateways could not count in Redis (`check --redis`), no gateway answers an operator, or it refuses the token.',
  [EXIT_USAGE]:
    'Usage: a command, argument or option that is not known, missing or malformed, or names a client, policy or decision that is not there.',
  [EXIT_INVALID_CONFIG]:
    'Invalid configuration: a setting or a policy file. Nothing was started, and every mistake is listed. With `check --strict` warnings as well.',
};
