/** Every finding of `headgate doctor` besides those of `headgate check`, which docs/check.md lists. */

import {
  configError,
  configWarning,
  type FindingText,
  of,
  type Part,
  runError,
  runWarning,
  type Severity,
} from './finding-text.ts';

export type { FindingText, Severity } from './finding-text.ts';

import { PROXY_FILE_FINDINGS } from './findings.ts';
import { THROUGH_FINDINGS } from './through-findings.ts';

export const FINDINGS = {
  'invalid-setting': configError(
    'A setting in the environment has a mistake.',
    'Correct it: docs/configuration.md lists the settings.',
  ),
  'open-check-port': configWarning(
    'Other machines can reach the check port, and no proxy secret is set. Anyone who reaches it can use up the limits of anyone.',
    'Set `HEADGATE_PROXY_SECRET`, or `HEADGATE_HOST=127.0.0.1`, or let only the proxy reach the port.',
  ),
  'unused-port-setting': configWarning(
    'With `HEADGATE_LISTEN`, headgate listens on a unix socket, so `HEADGATE_PORT` has no effect.',
    'Remove one of the two settings.',
  ),
  'policy-file': of('fine', 'configuration')('The policy file is valid.', ''),
  'policy-file-not-named': configWarning(
    'No policy file was named, so the one that comes with headgate was examined.',
    'Name yours: `--policies policies.yaml`, or set `HEADGATE_POLICIES`.',
  ),
  'other-policy-file': configWarning(
    'The running gateway serves another policy file than the one that was examined, or another version of it.',
    'Name the file that the gateway serves with `--policies`. If this is that file and it was changed some seconds ago, run headgate doctor again: the gateway reads it within 5 seconds. If it has refused the file, `headgate stats` says why.',
  ),
  ...PROXY_FILE_FINDINGS,
  'port-taken': runError(
    'Another program has a port that headgate needs.',
    'Stop it, or choose another port with the setting that the finding names.',
  ),
  'port-refused': runError(
    'headgate may not listen on this address and port.',
    'Choose an address of this machine and a port above 1023.',
  ),
  port: of('fine', 'running')('The port is free, or a gateway has it.', ''),
  'low-open-files': runWarning(
    'The process may open few files. Each connection of a proxy, and each to Redis, is one.',
    'Raise it: `ulimit -n 65536`, `LimitNOFILE=65536` in a unit, or `ulimits` in compose.',
  ),
  'open-files': of('fine', 'running')('The process may open enough files.', ''),
  node: of('fine', 'running')('The version of Node that runs headgate.', ''),
  'no-redis': configError(
    '`--redis` was given, but no setting names a Redis.',
    'Set `HEADGATE_REDIS_URL`.',
  ),
  'redis-fault': runError(
    'Gateways cannot count on this server.',
    'Correct what the finding names: the address in `HEADGATE_REDIS_URL`, its account, or the configuration of the server. docs/redis.md says what gateways need. `headgate check --redis` examines it again.',
  ),
  'redis-warning': runWarning(
    'Gateways can count there, but something may go wrong.',
    'Change the setting or the right that the finding names: docs/redis.md says what gateways need. Nothing, if this is intended.',
  ),
  'redis-note': of('info', 'running')('Good to know of this server.', ''),
  redis: of('fine', 'running')('What was examined on the server.', ''),
  ...THROUGH_FINDINGS,
} as const satisfies Readonly<Record<string, FindingText>>;

export type FindingId = keyof typeof FINDINGS;

export interface DoctorFinding {
  /** A FindingId, or a rule of `headgate check`. */
  readonly id: string;
  readonly severity: Severity;
  readonly part: Part;
  /** The file, address or URL. */
  readonly subject: string;
  readonly problem: string;
  /** Empty if nothing is to do. */
  readonly remedy: string;
}

export function found(id: FindingId, subject: string, problem: string): DoctorFinding {
  const { severity, part, remedy } = FINDINGS[id];
  return { id, severity, part, subject, problem, remedy: severity === 'fine' ? '' : remedy };
}
