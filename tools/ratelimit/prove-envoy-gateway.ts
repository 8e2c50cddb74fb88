/**
 * Proves with the real Envoy Gateway that its limits arrive: `node tools/ratelimit/prove-envoy-gateway.ts PATH-OF-envoy-gateway`
 * It runs Envoy Gateway without Kubernetes, with limits in a file, and subscribes as its rate limit service would, over TLS
 * with the certificates that it makes. It prints what it sees, and exits with 1 if an expectation is not met. All of it runs
 * in a network of its own (Linux, `unshare`), because Envoy Gateway's ports are fixed. It needs no Envoy and no Redis.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parseTarget } from '../../src/gateway/config/settings/control-plane-forms.ts';
import { startProcess } from '../../test/support/process.ts';
import { SEALED } from '../../test/support/sealed-network.ts';
import { startSubscriber } from '../../test/support/subscriber.ts';

/** internal/infrastructure/kubernetes/ratelimit/resource.go, v1.9.1: where the service of a cluster finds it. */
const PORT = 18_001;
/** The certificates that `certgen` makes are for this name. */
const SERVER_NAME = parseTarget(`envoy-gateway:${PORT}`).host;
const PATIENCE_MS = 60_000;
const DOMAIN = 'envoy-gateway-system/eg/http';
const ROUTE = 'httproute/envoy-gateway-system/backend/rule/0/match/0/www_example_com';

function sealed(gateway: string): void {
  const [command = '', ...words] = SEALED;
  const script = `ip link set lo up && exec "$0" "$@"`;
  const again = [process.execPath, import.meta.filename, gateway, 'sealed'];
  const run = spawnSync(command, [...words, 'sh', '-c', script, ...again], { stdio: 'inherit' });
  process.exitCode = run.status ?? 1;
}

function expected(requestsPerHour: number): object {
  const client = {
    key: 'rule-0-match-0',
    rate_limit: { unit: 'hour', requests_per_unit: requestsPerHour },
  };
  const all = {
    key: 'rule-1-match--1',
    value: 'rule-1-match--1',
    rate_limit: { unit: 'minute', requests_per_unit: 1_000 },
    shadow_mode: true,
  };
  const route = { key: ROUTE, value: ROUTE, descriptors: [client, all] };
  return { name: DOMAIN, value: { domain: DOMAIN, descriptors: [route] } };
}

async function prove(program: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-envoy-gateway-'));
  try {
    execFileSync(program, ['certgen', '--local', '--config-home', join(folder, 'config')]);
    // Written once: Envoy Gateway starts anew when it changes.
    writeFileSync(join(folder, 'eg.yaml'), gatewayFile(folder));
    writeResources(folder);
    const start = () => startProcess(program, ['server', '-c', join(folder, 'eg.yaml')]);
    await proveWith(start, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function proveWith(start: () => ReturnType<typeof startProcess>, folder: string) {
  const certificates = join(folder, 'config/certs/envoy-rate-limit');
  let isRefusing = false;
  await using first = start();
  using subscriber = startSubscriber({
    ...{ port: PORT, host: 'localhost' },
    tls: {
      ca: join(certificates, 'ca.crt'),
      certificate: join(certificates, 'tls.crt'),
      key: join(certificates, 'tls.key'),
      serverName: SERVER_NAME,
    },
    timing: { reconnection: { initialMs: 200, maxMs: 200, randomFactor: 0 } },
    apply: () => (isRefusing ? ['refused by tools/ratelimit/prove-envoy-gateway.ts'] : []),
  });
  const check = (what: string, isSo: boolean) => {
    process.stdout.write(`${isSo ? 'ok  ' : 'FAIL'} ${what}\n`);
    if (!isSo) process.exitCode = 1;
  };
  const within = async (what: string, condition: () => boolean) => {
    const end = Date.now() + PATIENCE_MS;
    while (!condition() && Date.now() < end) await new Promise((done) => setTimeout(done, 50));
    check(what, condition());
  };
  const has = (event: string, count = 1) =>
    subscriber.events.filter((each) => each.startsWith(event)).length >= count;
  const arrived = (files: object) => () => isDeepStrictEqual(subscriber.offered.at(-1), files);

  await within('a policy’s limits arrive', arrived([expected(3)]));
  await within('the version is in force', () => has('applied 1'));
  // What go-control-plane logs for the next request, which acknowledges the version.
  const acknowledged =
    /open watch \d+ for type\.googleapis\.com\/ratelimit\.config\.ratelimit\.v3\.RateLimitConfig map\[\] from nodeID "envoy-ratelimit", version "1"/;
  await within('Envoy Gateway has the ACK', () => acknowledged.test(first.output()));
  writeResources(folder, { requestsPerHour: 5 });
  await within('a changed limit arrives', arrived([expected(5)]));
  isRefusing = true;
  writeResources(folder, { requestsPerHour: 7 });
  await within('a refused configuration is reported', () => has('refused'));
  const offered = subscriber.offered.length;
  await within('Envoy Gateway repeats it', () => subscriber.offered.length >= offered + 2);
  // A file that is read while it is written is a version of its own.
  const refused = subscriber.events.filter((each) => each.startsWith('refused'));
  check('each version is reported once', new Set(refused).size === refused.length);
  isRefusing = false;
  await within(
    'it is applied once it is accepted',
    () => arrived([expected(7)])() && has('applied', 3),
  );
  writeResources(folder, { requestsPerHour: undefined });
  await within('a policy that is gone leaves no limits', arrived([]));

  await first.stop();
  await within('the end of Envoy Gateway is reported', () => has('disconnected'));
  writeResources(folder, { requestsPerHour: 9 });
  await using _ = start();
  await within('a restarted one counts from 1 again', () => has('applied 1', 2));
  await within('and its limits arrive', arrived([expected(9)]));
  process.stdout.write(`\n${subscriber.events.join('\n')}\n`);
}

/** Without a number of requests, there is no policy. */
function writeResources(
  folder: string,
  { requestsPerHour }: { requestsPerHour: number | undefined } = { requestsPerHour: 3 },
): void {
  const resources = join(folder, 'resources');
  mkdirSync(resources, { recursive: true });
  const documents = [
    RESOURCES,
    ...(requestsPerHour === undefined ? [] : [policy(requestsPerHour)]),
  ];
  writeFileSync(join(resources, 'resources.yaml'), documents.join('---\n'));
}

function gatewayFile(folder: string): string {
  const homes = ['config', 'data', 'state'].map((name) => `${name}Home: ${join(folder, name)}`);
  return `
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyGateway
gateway: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
provider:
  type: Custom
  custom:
    resource: {type: File, file: {paths: [${join(folder, 'resources')}]}}
    infrastructure: {type: Host, host: {${homes.join(', ')}, runtimeDir: ${join(folder, 'run')}}}
logging: {level: {default: warn, global-ratelimit: debug}}
rateLimit: {backend: {type: Redis, redis: {url: localhost:6379}}}
extensionApis: {enableBackend: true}
`;
}

const RESOURCES = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: eg}
spec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: eg}
spec:
  gatewayClassName: eg
  listeners: [{name: http, protocol: HTTP, port: 8888}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: backend}
spec:
  parentRefs: [{name: eg}]
  hostnames: [www.example.com]
  rules:
    - backendRefs: [{group: gateway.envoyproxy.io, kind: Backend, name: backend}]
      matches: [{path: {type: PathPrefix, value: /}}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {name: backend}
spec: {endpoints: [{ip: {address: 127.0.0.1, port: 3000}}]}
`;

function policy(requestsPerHour: number): string {
  return `
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: limits}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: backend}]
  rateLimit:
    type: Global
    global:
      rules:
        - clientSelectors: [{headers: [{name: x-user-id, type: Distinct}]}]
          limit: {requests: ${requestsPerHour}, unit: Hour}
        - limit: {requests: 1000, unit: Minute}
          shadowMode: true
`;
}

const [gateway = '', mark] = process.argv.slice(2);
if (gateway === '') throw new Error('name the program envoy-gateway');
if (mark === undefined) sealed(gateway);
else await prove(gateway);
