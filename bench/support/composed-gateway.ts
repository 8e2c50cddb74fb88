/**
 * The gateway as src/gateway/app/gateway.ts composes it, counting in memory, with a telemetry of choice. A program of its own:
 * TELEMETRY OPS_PORT POLICIES. TELEMETRY is `shipped`, or `none` for one that does nothing for each request; POLICIES
 * is the text of a policy file.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGateway } from '../../src/gateway/app/gateway.ts';
import { OpenResources } from '../../src/gateway/app/open-resources.ts';
import {
  openPolicySource,
  type PolicySource,
} from '../../src/gateway/config/policy-file/policy-source.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { VERSION } from '../../src/gateway/config/shipped-files.ts';
import { createTelemetry, type Telemetry } from '../../src/gateway/telemetry/telemetry.ts';

const [kind = '', opsPort = '', policies = ''] = process.argv.slice(2);
const environment = readEnvironment({
  HEADGATE_PORT: '0',
  HEADGATE_GRPC_PORT: 'off',
  HEADGATE_OPS_PORT: opsPort,
});
const { logLevel: level } = environment;
const shipped = createTelemetry({ level, version: VERSION, now: Date.now });

const gateway = await createGateway({
  environment,
  policies: policiesOf(policies),
  telemetry: kind === 'none' ? withoutRequests(shipped) : shipped,
  now: Date.now,
  resources: new OpenResources(),
});
// A benchmark that is ended while it starts its servers may leave one behind.
const benchmark = process.ppid;
setInterval(() => {
  if (process.ppid !== benchmark) process.exit();
}, 1_000);
const { check } = await gateway.listen();
console.log(`http://127.0.0.1:${(check as AddressInfo).port}`);

/** The least that telemetry could cost: all that is told of a request goes nowhere. */
function withoutRequests(telemetry: Telemetry): Telemetry {
  return {
    ...telemetry,
    decisions: {
      ...telemetry.decisions,
      decided() {},
      wouldDeny() {},
      denied() {},
      wouldBeDenied() {},
      identified() {},
      unmatched() {},
      checkFailed() {},
    },
    proxies: {
      ...telemetry.proxies,
      misconfigured() {},
      policyUnknown() {},
      untrustedProxy() {},
      headersIgnored() {},
      unauthorizedRefused() {},
    },
  };
}

function policiesOf(text: string): PolicySource {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  try {
    const file = join(folder, 'policies.yaml');
    writeFileSync(file, text);
    return openPolicySource({ ...environment, policies: file });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
