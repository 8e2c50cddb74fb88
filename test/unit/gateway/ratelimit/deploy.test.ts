/** The files of deploy/ratelimit fit each other and the gateway. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { dropInFor } from '../../../../src/cli/environment/variables.ts';
import { readEnvironment } from '../../../../src/gateway/config/settings/environment.ts';
import { compileRules } from '../../../../src/gateway/ratelimit/rules/compile.ts';
import { blocksOf } from '../../../support/page.ts';

const FOLDER = new URL('../../../../deploy/ratelimit/', import.meta.url);
const textOf = (name: string) => readFileSync(new URL(name, FOLDER), 'utf8');
const EDGE = parse(textOf('config/edge.yaml'));

/** What Envoy Gateway 1.9.1 sets (internal/infrastructure/kubernetes/ratelimit/resource.go). */
const OF_ENVOY_GATEWAY = {
  RUNTIME_ROOT: '/data',
  RUNTIME_SUBDIRECTORY: 'ratelimit',
  RUNTIME_IGNOREDOTFILES: 'true',
  RUNTIME_WATCH_ROOT: 'false',
  LOG_LEVEL: 'info',
  USE_STATSD: 'false',
  CONFIG_TYPE: 'GRPC_XDS_SOTW',
  CONFIG_GRPC_XDS_SERVER_URL: 'envoy-gateway:18001',
  CONFIG_GRPC_XDS_NODE_ID: 'envoy-ratelimit',
  GRPC_SERVER_USE_TLS: 'true',
  GRPC_SERVER_TLS_CERT: '/certs/tls.crt',
  GRPC_SERVER_TLS_KEY: '/certs/tls.key',
  GRPC_SERVER_TLS_CA_CERT: '/certs/ca.crt',
  CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true',
  CONFIG_GRPC_XDS_CLIENT_TLS_CERT: '/certs/tls.crt',
  CONFIG_GRPC_XDS_CLIENT_TLS_KEY: '/certs/tls.key',
  CONFIG_GRPC_XDS_SERVER_TLS_CACERT: '/certs/ca.crt',
  FORCE_START_WITHOUT_INITIAL_CONFIG: 'true',
  REDIS_SOCKET_TYPE: 'tcp',
  USE_PROMETHEUS: 'true',
  PROMETHEUS_ADDR: ':19001',
  PROMETHEUS_MAPPER_YAML: '/etc/statsd-exporter/conf.yaml',
};

test('the limits are valid, and Envoy sends what they count', () => {
  const rules = compileRules([{ name: 'edge.yaml', value: EDGE }], { mergeDomains: false });
  expect(rules.all).toHaveLength(3);
  const envoy = textOf('envoy.yaml');
  expect(envoy).toContain(`domain: ${EDGE.domain}`);
  for (const { value } of EDGE.descriptors) {
    if (value !== undefined) expect(envoy).toContain(`descriptor_value: ${value} `);
  }
});

test('the environment of Envoy Gateway sets the gateway up', () => {
  const gateway = parse(textOf('kubernetes/envoy-gateway.yaml'));
  const { url } = gateway.rateLimit.backend.redis;
  const { variables, notes } = dropInFor({ ...OF_ENVOY_GATEWAY, REDIS_URL: url });
  expect(readEnvironment(variables)).toMatchObject({
    port: undefined,
    grpcPort: 8081,
    opsHost: '0.0.0.0',
    opsPort: 19001,
    redis: { addresses: [{ host: 'redis.redis-system.svc.cluster.local', port: 6379 }] },
    grpcTls: { certificate: '/certs/tls.crt', key: '/certs/tls.key', clientCa: undefined },
    rateLimit: {
      httpPort: 8080,
      config: undefined,
      controlPlane: {
        ...{ host: 'envoy-gateway', port: 18001, node: 'envoy-ratelimit' },
        beforeLimits: 'fail',
        tls: { ca: '/certs/ca.crt', certificate: '/certs/tls.crt', key: '/certs/tls.key' },
      },
    },
  });
  expect(notes).toEqual([
    expect.stringContaining('HEADGATE_ADMIN_TOKEN is not set'),
    expect.stringContaining('PROMETHEUS_MAPPER_YAML has no effect'),
  ]);
});

test('the Deployment for Istio mounts the folder that its environment names', () => {
  const { spec } = parse(textOf('kubernetes/istio.yaml'));
  const [container] = spec.template.spec.containers;
  const given = Object.fromEntries(
    container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
  );
  const { rateLimit, redis, grpcPort } = readEnvironment(dropInFor(given).variables);
  expect(rateLimit?.config).toBe(container.volumeMounts[0].mountPath);
  expect(redis?.addresses).toEqual([{ host: 'redis', port: 6379 }]);
  const ports = container.ports.map(
    ({ containerPort }: { containerPort: number }) => containerPort,
  );
  expect(ports).toEqual([rateLimit?.httpPort, grpcPort, 6070]);
});

describe.each(readdirSync(new URL('kubernetes/', FOLDER)))('kubernetes/%s', (name) => {
  const documents = parseAllDocuments(textOf(`kubernetes/${name}`));

  test('is YAML, and names the domain of the limits if it names one', () => {
    expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
    for (const [, domain] of textOf(`kubernetes/${name}`).matchAll(/^ *domain: (\S+)/gm)) {
      expect(domain).toBe(EDGE.domain);
    }
  });
});

describe('docs/quickstart/envoy-ratelimit.md', () => {
  const PAGE = new URL('../../../../docs/quickstart/envoy-ratelimit.md', import.meta.url);
  const blocks = blocksOf(readFileSync(PAGE, 'utf8'));
  const fileOf = (name: string) => blocks.find(({ file }) => file === name)?.text ?? '';
  const added = parse(fileOf('envoy.yaml').replaceAll(/^./gm, ''));
  const shipped = parse(textOf('envoy.yaml'));

  test('adds the filter and the cluster of deploy/ratelimit/envoy.yaml', () => {
    const filterIn = ({ static_resources: { listeners } }: typeof shipped) =>
      listeners[0].filter_chains[0].filters[0].typed_config.http_filters[0];
    const clusterIn = ({ static_resources: { clusters } }: typeof shipped) =>
      clusters.find(({ name }: { name: string }) => name === 'ratelimit');
    expect(filterIn(added)).toEqual(filterIn(shipped));
    expect(clusterIn(added)).toEqual(clusterIn(shipped));
  });

  test('has limits of deploy/ratelimit', () => {
    const { domain, descriptors } = parse(fileOf('limits/edge.yaml'));
    expect(domain).toBe(EDGE.domain);
    expect(EDGE.descriptors).toEqual(expect.arrayContaining(descriptors));
  });
});
