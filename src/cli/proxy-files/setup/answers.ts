import type { Front } from '../print/writer.ts';
import type { HostAndPort } from '../proxy-address.ts';

export interface Answers {
  readonly proxy: string;
  /** If the proxy has a configuration already, only the parts to add are written. */
  readonly existing: boolean;
  readonly application: HostAndPort;
  /** The proxy sends checks to itself there. The default is a port that the other answers leave free. */
  readonly ownPort: number | undefined;
  readonly login: string | undefined;
  readonly front: Front | undefined;
  readonly keys: boolean;
  /** The URL of a Redis. Without it, one gateway counts in memory. */
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

export const POLICY_FILE = 'policies.yaml';
export const TEST_FILE = 'policies_test.yaml';

/** A client may log in so often in five minutes. */
export const LOGINS = 5;
