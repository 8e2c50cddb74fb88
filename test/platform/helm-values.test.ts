/** What helm says about values of the chart that are wrong, and what the notes say about values that are not safe. */
import { describe, expect, inject, test } from 'vitest';
import { chartFile, notesOf, refusalOf, renderedChart, valueFile } from './support/helm.ts';
import { containersOf, type Deployment, ofKind } from './support/kubernetes.ts';

const { helm: hasHelm } = inject('programs');

const POLICIES = 'version: 1, default: { limits: [9/1h] }';
const REDIS = 'redis: { existingSecret: headgate }';
const OPEN = 'adminToken: { existingSecret: headgate }';

/** Values, and what helm says about them. */
const UNKNOWN_OR_MALFORMED: readonly [string, string][] = [
  ['replica: 3', "additional properties 'replica' not allowed"],
  ['redis: { existingsecret: headgate }', "at '/redis': additional properties 'existingsecret'"],
  ['replicas: two', "at '/replicas': got string, want integer"],
  ['replicas: 0', "at '/replicas': minimum: got 0, want 1"],
  ['podDisruptionBudget: { maxUnavailable: 0 }', "at '/podDisruptionBudget/maxUnavailable'"],
  ['logLevel: verbose', "at '/logLevel': value must be one of 'trace', 'debug'"],
  ['podAntiAffinity: off', "at '/podAntiAffinity'"],
  ['topologySpread: { zone: hard }', "at '/topologySpread/zone': value must be one of"],
  ['image: { digest: latest }', "at '/image/digest'"],
  ['listenAddress: localhost', "at '/listenAddress'"],
  ['extraEnv: { A: b }', "at '/extraEnv': got object, want array"],
  ['extraEnv: [{ name: A, value: 1 }]', "at '/extraEnv/0/value': got number, want string"],
  ['resources: { limit: { memory: 1Gi } }', "at '/resources': additional properties 'limit'"],
  // Kubernetes reads an empty list of peers as everybody.
  ['networkPolicy: { proxies: [] }', "at '/networkPolicy/proxies': minItems: got 0, want 1"],
  ['networkPolicy: { proxies: [{}] }', "at '/networkPolicy/proxies/0': minProperties"],
  ['networkPolicy: { redis: [{ cidr: 10.0.0.0/8 }] }', "additional properties 'cidr' not allowed"],
  ['metrics: { serviceMonitor: { interval: often } }', "at '/metrics/serviceMonitor/interval'"],
];

const MISLEADING: readonly [string, string][] = [
  ['replicas: 3', 'replicas: 3 pods without Redis each count by themselves'],
  ['autoscaling: { enabled: true }', 'autoscaling.enabled: pods without Redis each count'],
  ['redis: { url: "redis://a", existingSecret: b }', 'redis.url: redis.existingSecret is set as'],
  [
    `adminToken: { value: ${'a'.repeat(16)}, existingSecret: b }`,
    'adminToken.value: adminToken.existingSecret is set as well',
  ],
  ['apiKeys: { text: "[]", existingSecret: b }', 'apiKeys.text: apiKeys.existingSecret is set'],
  [
    `policyFile: { text: "{ ${POLICIES} }", existingConfigMap: b }`,
    'policyFile.text: policyFile.existingConfigMap is set as well',
  ],
  ['redis: { url: "http://redis:6379" }', 'redis.url: must be a URL such as redis://'],
  ['adminToken: { value: short }', 'adminToken.value: must be 16 to 256'],
  ['adminToken: { value: "<16 characters or more>" }', 'adminToken.value: must be 16 to 256'],
  ['proxySecret: { value: "has a space in its middle" }', 'proxySecret.value: must be at least 16'],
  ['ipSaltSecret: { value: short }', 'ipSaltSecret.value: must be at least 32'],
  ['policyFile: { text: "a: [" }', 'policyFile.text: is not a YAML map'],
  ['policyFile: { text: "- a" }', 'policyFile.text: is not a YAML map'],
  ['policyFile: { text: "version: 1" }', '`version` or `default` is missing'],
  ['apiKeys: { existingSecret: a }', 'apiKeys: the policy file does not use them'],
  [
    `policyFile: { text: "{ ${POLICIES}, identity: { api_key: { keys: keys.yaml } } }" }`,
    'identity.api_key.keys names the file keys.yaml, which no pod has',
  ],
  [
    `{ ${REDIS}, autoscaling: { enabled: true, minReplicas: 5, maxReplicas: 4 } }`,
    'autoscaling.minReplicas: 5 is more than autoscaling.maxReplicas, 4',
  ],
  [
    `{ ${REDIS}, autoscaling: { enabled: true }, resources: { requests: { cpu: null } } }`,
    'resources.requests.cpu, which is not set',
  ],
  [
    'service: { http: { enabled: false }, grpc: { enabled: false } }',
    'service: no proxy could ask headgate',
  ],
  ['service: { grpc: { port: 8080 } }', 'service.grpc.port: is the same as service.http.port'],
  [
    'metrics: { serviceMonitor: { enabled: true } }',
    'metrics.serviceMonitor.enabled: without an admin token',
  ],
  [
    'podAntiAffinity: preferred\naffinity: { podAntiAffinity: { a: b } }',
    'podAntiAffinity: affinity.podAntiAffinity is set as well',
  ],
  [
    'extraEnv: [{ name: REDIS_URL, value: "redis://a" }]',
    'extraEnv: the chart sets REDIS_URL itself. Set redis instead.',
  ],
  ['extraEnv: [{ name: HEADGATE_PORT, value: "80" }]', 'extraEnv: HEADGATE_PORT would not fit'],
];

describe.skipIf(!hasHelm)('helm refuses', () => {
  test.each([...UNKNOWN_OR_MALFORMED, ...MISLEADING])('%s', (values, message) => {
    expect(refusalOf(values)).toContain(message);
  });

  test('with the text that the README shows', () => {
    const [, shown = ''] = chartFile('README.md').match(/```text\n([\s\S]*?)```/) ?? [];
    expect(refusalOf('replicas: 3')).toContain(shown);
    expect(shown).toContain('headgate: these values do not fit.');
  });

  test('several mistakes at once, and quotes no secret', () => {
    const text = refusalOf('replicas: 2\nadminToken: { value: hush-hush }');
    expect(text.match(/^ {2}- /gm)).toHaveLength(2);
    expect(text).not.toContain('hush-hush');
  });

  test('an upgrade that would replace the policy file by the example', () => {
    expect(refusalOf('', ['--is-upgrade'])).toContain('policyFile: this upgrade would put');
    const given = `policyFile: { text: "{ ${POLICIES} }" }`;
    expect(renderedChart(['--is-upgrade'], given)).not.toEqual([]);
  });

  test('every setting that the chart sets itself', () => {
    const all = valueFile('redis.yaml');
    const objects = [
      ...renderedChart(['--values', all]),
      ...renderedChart(
        [],
        'listenAddress: "::"\nlogLevel: warn\nservice: { grpc: { enabled: false } }',
      ),
    ];
    const set = ofKind<Deployment>(objects, 'Deployment')
      .flatMap(containersOf)
      .flatMap(({ env = [] }) => env.map(({ name }) => name));
    const ofTheChart = set.filter((name) => name !== 'HEADGATE_REPLICAS');
    for (const name of [...ofTheChart, 'HEADGATE_OPS_PORT', 'HEADGATE_LISTEN'])
      expect(refusalOf(`extraEnv: [{ name: ${name}, value: "1" }]`)).toContain(`${name} `);
  });
});

describe.skipIf(!hasHelm)('HEADGATE_REPLICAS', () => {
  const REDIS = 'redis: { existingSecret: redis }';
  const valuesOf = (values: string) =>
    ofKind<Deployment>(renderedChart([], `${REDIS}\n${values}`), 'Deployment')
      .flatMap(containersOf)
      .flatMap(({ env = [] }) => env as { name: string; value?: string }[])
      .flatMap(({ name, value }) => (name === 'HEADGATE_REPLICAS' ? [value] : []));
  const more = 'extraEnv: [{ name: HEADGATE_REPLICAS, value: "7" }]';

  test('is the number of pods, with an autoscaler the smallest, or that of extraEnv', () => {
    expect(valuesOf('')).toEqual(['1']);
    expect(valuesOf('replicas: 4')).toEqual(['4']);
    expect(valuesOf('autoscaling: { enabled: true }')).toEqual(['3']);
    expect(valuesOf(more)).toEqual(['7']);
  });

  test('is a warning of the notes while it is 1, because others may count in that Redis', () => {
    const warning = 'WARNING: HEADGATE_REPLICAS is 1';
    expect(notesOf([], REDIS)).toContain(warning);
    for (const values of [`${REDIS}\nreplicas: 2`, `${REDIS}\n${more}`, ''])
      expect(notesOf([], values)).not.toContain(warning);
  });
});

describe.skipIf(!hasHelm)('the notes', () => {
  const warnings = (text: string) =>
    [...text.matchAll(/^WARNING: ([^:.,]+)/gm)].map(([, warning]) => warning);

  test('warn about everything that is not set, and give an address for every proxy', () => {
    const notes = notesOf([]);
    expect(notes).toContain('headgate 0.2.0: 1 pod, counting in memory.');
    expect(notes).toContain('http://headgate.headgate.svc.cluster.local:8080/nginx');
    expect(notes).toContain('headgate.headgate.svc.cluster.local:8081 for Envoy over gRPC');
    expect(warnings(notes)).toEqual([
      'policyFile is not set',
      'no Redis',
      'no admin token',
      'every pod of the cluster can send checks',
    ]);
  });

  test('warn about nothing if the values are safe', () => {
    const notes = notesOf(['--values', valueFile('redis.yaml')]);
    expect(notes).toContain('3 pods, counting in Redis.');
    expect(notes).toContain('must send the secret as X-Headgate-Secret');
    expect(warnings(notes)).toEqual([]);
  });

  test('name only the ports that the Service has', () => {
    const notes = notesOf(['--values', valueFile('grpc.yaml')]);
    expect(notes).toContain('headgate.headgate.svc.cluster.local:9001 for Envoy over gRPC');
    expect(notes).not.toContain('/nginx');
    expect(notesOf([], `${REDIS}\n${OPEN}\nautoscaling: { enabled: true }`)).toContain(
      'headgate 0.2.0: 3 to 12 pods, counting in Redis.',
    );
  });
});
