/** Settings that are valid each, and do not fit each other. */

import type { Diagnostic } from '../../gateway/config/diagnostic.ts';
import type { Environment } from '../../gateway/config/settings/environment.ts';
import { canonicalAddress, isLoopback } from '../../gateway/core/identity/address.ts';
import { found } from './catalog.ts';

type Settings = Pick<Environment, 'host' | 'socket' | 'proxySecrets'>;

/** `isSet`: whether the environment has a setting of this name. */
export function settingsFindings(
  { host, socket, proxySecrets }: Settings,
  isSet: (name: string) => boolean,
): Diagnostic[] {
  const isLocal = host === 'localhost' || isLoopback(canonicalAddress(host) ?? '');
  const findings: Diagnostic[] = [];
  if (socket === undefined && !isLocal && proxySecrets.length === 0)
    findings.push(
      found('open-check-port', 'HEADGATE_HOST', `${host} is open to others, without a secret`),
    );
  if (socket !== undefined && isSet('HEADGATE_PORT'))
    findings.push(
      found('unused-port-setting', 'HEADGATE_PORT', 'has no effect beside HEADGATE_LISTEN'),
    );
  return findings;
}
