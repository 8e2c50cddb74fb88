import type { PolicySource } from '../config/policy-file/policy-source.ts';
import type { Environment } from '../config/settings/environment.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { OpenResources } from './open-resources.ts';

export interface GatewayOptions {
  readonly environment: Environment;
  readonly policies: PolicySource;
  readonly telemetry: Telemetry;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The gateway ends when these are closed. It answers the checks under way before. */
  readonly resources: OpenResources;
}
