export const EXIT_FAULT = 1;
export const EXIT_USAGE = 2;
export const EXIT_INVALID_CONFIG = 3;
/** Shells use 128 and the number of SIGINT, too. */
export const EXIT_INTERRUPTED = 130;

export const EXIT_CODES: Readonly<Record<number, string>> = {
  0: 'Success; also after SIGTERM, once the requests in flight are answered.',
  [EXIT_FAULT]:
    'Failure: this Node is too old, a port is in use, a second signal ended the process, the gateway is not alive (`healthcheck`), gateways could not count in Redis (`check --redis`), a running program has an error (`doctor`), a policy test failed or too few limits are covered (`test`), a log cannot be read, or has no request that is understood (`suggest`), a number is larger than `--fail-on` allows (`replay`), a file cannot be written, or exists already (`init`, `import`), a configuration cannot be read, or has no limits that can be carried over (`import`), a line was refused (`keys import`), no gateway answers, or it refuses the admin token.',
  [EXIT_USAGE]:
    'Usage: a command, argument or option is unknown, missing or malformed, or names a client, policy or decision that does not exist; or `test` found no test to run.',
  [EXIT_INVALID_CONFIG]:
    'Invalid configuration: a setting, a policy file or a test file has mistakes. Nothing was started, and every mistake is listed. `check --strict` also exits with this code for warnings.',
  [EXIT_INTERRUPTED]:
    'Interrupted: Ctrl+C ended the reading of a log (`replay`, `suggest`), and what was known is printed; or it ended the questions of `init`, and nothing was written.',
};
