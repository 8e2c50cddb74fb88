/** What `headgate init` needs to know. */
import type { Front } from '../print/writer.ts';

export interface Answers {
  readonly proxy: string;
  /** Whether the proxy has a configuration already. Then only the parts to add are written. */
  readonly existing: boolean;
  /** Where the application listens, as the proxy reaches it. */
  readonly application: Endpoint;
  /** The port of this machine at which the proxy sends checks to itself. Undefined: one that the other answers leave free. */
  readonly ownPort: number | undefined;
  /** Where clients log in: a path of letters, digits and `-._~/`. Undefined: nowhere. */
  readonly login: string | undefined;
  /** What stands between the clients and the proxy. Undefined: nothing. */
  readonly front: Front | undefined;
  readonly keys: boolean;
  /** The URL of a Redis in which several gateways count. Undefined: one gateway counts in memory. */
  readonly redis: string | undefined;
  readonly with: readonly Extra[];
  /** By the settings of this shell. The written files may need others. */
  readonly ports: GatewayPorts;
}

export interface GatewayPorts {
  readonly check: number;
  readonly grpc: number;
  readonly ops: number;
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Ways to run the gateway. Each adds a file. */
export const EXTRAS = ['compose', 'systemd'] as const;
export type Extra = (typeof EXTRAS)[number];

export const LOGIN_PATH = '/api/auth/login';

export const DEFAULT_ANSWERS: Answers = {
  proxy: 'nginx',
  existing: false,
  application: { host: '127.0.0.1', port: 3000 },
  ownPort: undefined,
  login: LOGIN_PATH,
  front: undefined,
  keys: false,
  redis: undefined,
  with: [],
  ports: { check: 8080, grpc: 8081, ops: 9464 },
};

/** The names of files, which the files mention. */
export const POLICY_FILE = 'policies.yaml';
export const TEST_FILE = 'policies_test.yaml';

/** Requests that a client may send there in five minutes. */
export const LOGINS = 5;
