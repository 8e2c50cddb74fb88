/** The objects of deploy/kubernetes fit each other, the cluster's rules for pods, and the gateway. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { ConfigError } from '../../src/gateway/config/diagnostic.ts';
import { validatePolicyFile } from '../../src/gateway/config/policy-file/validate.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { runCommand } from '../support/command.ts';
import { startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { ingressAnnotations } from '../support/ingress-nginx.ts';
import { policyFileContext } from '../support/policies.ts';
import { freePort } from '../support/ports.ts';
import { findProgram } from '../support/programs.ts';
import { changed, envoyArguments, runProxy } from '../support/proxies.ts';
import { descriptor, startRateLimitGateway } from '../support/rate-limits.ts';
import { startUpstream } from '../support/upstream.ts';
import {
  type Autoscaler,
  type ConfigMap,
  type Container,
  containersOf,
  type Deployment,
  environmentOf,
  headgatesOf,
  type KubernetesObject,
  type NetworkPolicy,
  named,
  objectsOf,
  ofKind,
  type PodDisruptionBudget,
  probesOf,
  rendered,
  restrictedViolations,
  type Secret,
  type Service,
  selected,
} from './support/kubernetes.ts';

const SECRET_FILE = 'kubernetes/base/secret.example.yaml';
const SECRETS = {
  'redis-url': 'redis://headgate@redis.redis.svc.cluster.local:6379/0',
  'ip-salt-secret': 's'.repeat(32),
  'admin-token': 'a'.repeat(16),
  'proxy-secret': 'p'.repeat(16),
};
/** Services that a folder needs from the cluster, as its kustomization says. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  'overlays/envoy-gateway': ['application/application:80'],
  'overlays/istio': ['application/application:80'],
  'overlays/ratelimit': [],
  'overlays/sidecar': [],
};
/** Places that a test on this machine chooses itself; without Redis it counts in memory. */
const OF_THE_POD = /^HEADGATE_(POLICIES|OPS_HOST|RATELIMIT_CONFIG|REDIS_URL|REPLICAS|DRAIN_MS)$/;
/** After draining, headgate ends within this time. */
const END_WITHIN_SECONDS = 6;

const folder = mkdtempSync(join(tmpdir(), 'headgate-k8s-'));
afterAll(() => rmSync(folder, { recursive: true }));

const hasKubectl = inject('programs').kubectl !== undefined;
const hasEnvoy = inject('programs').envoy !== undefined;

const deployments = (objects: readonly KubernetesObject[]) =>
  ofKind<Deployment>(objects, 'Deployment');

describe.skipIf(!hasKubectl).each(Object.keys(FOLDERS))('%s', (name) => {
  // Rendered when the tests are collected, which is before they are skipped.
  const objects = hasKubectl ? rendered(name) : [];

  test('every selector finds pods', () => {
    for (const service of ofKind<Service>(objects, 'Service'))
      expect(selected(objects, service, service.spec.selector), service.metadata.name).not.toEqual(
        [],
      );
    for (const policy of ofKind<NetworkPolicy>(objects, 'NetworkPolicy'))
      expect(selected(objects, policy, policy.spec.podSelector.matchLabels)).not.toEqual([]);
    for (const budget of ofKind<PodDisruptionBudget>(objects, 'PodDisruptionBudget'))
      expect(selected(objects, budget, budget.spec.selector.matchLabels)).not.toEqual([]);
    for (const { metadata, spec } of ofKind<Autoscaler>(objects, 'HorizontalPodAutoscaler')) {
      const target = named<Deployment>(objects, spec.scaleTargetRef.kind, spec.scaleTargetRef.name);
      expect(target.metadata.namespace).toBe(metadata.namespace);
    }
    for (const deployment of deployments(objects)) {
      const { selector, template } = deployment.spec;
      expect(selected(objects, deployment, selector.matchLabels)).toEqual([deployment]);
      for (const { labelSelector } of template.spec.topologySpreadConstraints ?? [])
        expect(selected(objects, deployment, labelSelector.matchLabels)).toEqual([deployment]);
    }
  });

  test('every named port exists', () => {
    const portsOf = (pods: readonly Deployment[]) =>
      pods.flatMap(containersOf).flatMap(({ ports = [] }) => ports.map((port) => port.name));
    for (const service of ofKind<Service>(objects, 'Service')) {
      const found = portsOf(selected(objects, service, service.spec.selector));
      for (const { targetPort } of service.spec.ports) expect(found).toContain(targetPort);
    }
    for (const policy of ofKind<NetworkPolicy>(objects, 'NetworkPolicy')) {
      const found = portsOf(selected(objects, policy, policy.spec.podSelector.matchLabels));
      for (const { ports } of policy.spec.ingress)
        for (const { port } of ports) expect(found).toContain(port);
    }
    for (const container of deployments(objects).flatMap(containersOf)) {
      const found = container.ports?.map((port) => port.name);
      for (const { httpGet } of probesOf(container))
        if (httpGet !== undefined) expect(found).toContain(httpGet.port);
    }
    const { ports = [] } = headgatesOf(objects)[0] ?? {};
    const environment = readEnvironment({});
    const expected = {
      http: environment.port,
      grpc: environment.grpcPort,
      ops: environment.opsPort,
    };
    for (const port of ports)
      expect(port.containerPort).toBe(expected[port.name as keyof typeof expected]);
  });

  test('every named Service exists, or is a documented requirement', () => {
    const services = ofKind<Service>(objects, 'Service').flatMap(({ metadata, spec }) =>
      spec.ports.map(({ port }) => `${metadata.namespace}/${metadata.name}:${port}`),
    );
    for (const place of servicesNamedIn(objects))
      expect([...services, ...(FOLDERS[name] ?? [])]).toContain(place);
  });

  test('every named account, ConfigMap, Secret and volume exists', () => {
    const [example] = objectsOf(SECRET_FILE) as Secret[];
    for (const deployment of deployments(objects)) {
      const { serviceAccountName, volumes = [] } = deployment.spec.template.spec;
      const { namespace } = deployment.metadata;
      if (serviceAccountName !== undefined)
        expect(named(objects, 'ServiceAccount', serviceAccountName).metadata.namespace).toBe(
          namespace,
        );
      for (const { configMap } of volumes)
        if (configMap !== undefined)
          expect(named(objects, 'ConfigMap', configMap.name).metadata.namespace).toBe(namespace);
      for (const { env = [], volumeMounts = [] } of containersOf(deployment)) {
        const found = volumes.map((volume) => volume.name);
        for (const mount of volumeMounts) expect(found).toContain(mount.name);
        for (const { valueFrom } of env) {
          if (valueFrom === undefined) continue;
          expect(valueFrom.secretKeyRef.name).toBe(example?.metadata.name);
          expect(Object.keys(example?.stringData ?? {})).toContain(valueFrom.secretKeyRef.key);
        }
      }
    }
  });

  test('contains no Secret', () => {
    expect(ofKind(objects, 'Secret')).toEqual([]);
  });

  test('every pod passes the Pod Security Standard "restricted", and needs no token', () => {
    expect(deployments(objects)).not.toEqual([]);
    for (const deployment of deployments(objects)) {
      const { spec } = deployment.spec.template;
      expect(restrictedViolations(spec)).toEqual([]);
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
      });
      for (const { resources, securityContext } of containersOf(deployment)) {
        expect(securityContext?.readOnlyRootFilesystem).toBe(true);
        expect(Object.keys(resources?.requests ?? {}).sort()).toEqual(['cpu', 'memory']);
        // A gateway that is throttled by a CPU limit answers later than proxies wait.
        expect(Object.keys(resources?.limits ?? {})).toEqual(['memory']);
      }
    }
  });

  test('the gateway accepts its environment, and every variable is a setting', () => {
    const settings = namesOfSettings();
    for (const container of headgatesOf(objects)) {
      for (const variable of container.env ?? []) expect(settings).toContain(variable.name);
      const environment = readEnvironment(environmentOf(container, SECRETS));
      expect(environment.redis).toBeDefined();
      expect(environment.ipSaltSecret).toBe(SECRETS['ip-salt-secret']);
    }
  });

  test('a gateway whose ops port other pods can reach starts only with an admin token', () => {
    const { 'admin-token': token, ...others } = SECRETS;
    for (const container of headgatesOf(objects)) {
      const read = () => readEnvironment(environmentOf(container, others));
      if (listensForTheKubelet(container)) {
        expect(readEnvironment(environmentOf(container, SECRETS)).adminToken).toBe(token);
        expect(mistakesOf(read)).toEqual([expect.stringMatching(/^HEADGATE_OPS_HOST: /)]);
        const variable = container.env?.find(({ name }) => name === 'HEADGATE_ADMIN_TOKEN');
        // If it were optional, a missing one would show only in the log of the gateway.
        expect(variable?.valueFrom?.secretKeyRef).toEqual({ name: 'headgate', key: 'admin-token' });
      } else {
        expect(mistakesOf(read)).toEqual([]);
      }
    }
  });

  test('local shares are for the smallest number of pods', () => {
    const [autoscaler] = ofKind<Autoscaler>(objects, 'HorizontalPodAutoscaler');
    const [deployment] = deployments(objects);
    const pods = autoscaler?.spec.minReplicas ?? deployment?.spec.replicas;
    for (const container of headgatesOf(objects))
      expect(readEnvironment(environmentOf(container, SECRETS)).replicas).toBe(pods);
    if (autoscaler !== undefined) expect(deployment?.spec.replicas).toBeUndefined();
  });

  test('a pod has time to drain, and ends when its replacement is ready', () => {
    for (const deployment of deployments(objects)) {
      const { terminationGracePeriodSeconds } = deployment.spec.template.spec;
      for (const container of headgatesOf([deployment])) {
        const { drainMs } = readEnvironment(environmentOf(container, SECRETS));
        expect(terminationGracePeriodSeconds).toBeGreaterThan(drainMs / 1000 + END_WITHIN_SECONDS);
      }
      expect(deployment.spec.strategy.rollingUpdate.maxUnavailable).toBe(0);
    }
  });

  test('the policy file is valid, and mounted so that changes reach it', () => {
    const { data } = named<ConfigMap>(objects, 'ConfigMap', 'headgate-policies');
    const valid = validatePolicyFile(
      data['policies.yaml'] ?? '',
      'policies.yaml',
      policyFileContext(),
    );
    expect(valid.notes).toEqual([]);
    for (const deployment of deployments(objects)) {
      const { volumes = [] } = deployment.spec.template.spec;
      for (const container of headgatesOf([deployment])) {
        const { policies } = readEnvironment(environmentOf(container, SECRETS));
        const mount = container.volumeMounts?.find(({ mountPath }) =>
          policies.startsWith(`${mountPath}/`),
        );
        expect(mount?.subPath).toBeUndefined();
        expect(volumes.find((volume) => volume.name === mount?.name)?.configMap?.name).toBe(
          'headgate-policies',
        );
        expect(policies).toBe(`${mount?.mountPath}/policies.yaml`);
      }
    }
  });

  test('probes succeed while Redis is down', async () => {
    const HEADGATE_REDIS_URL = `redis://127.0.0.1:${await freePort()}`;
    await using gateway = await startGateway({ HEADGATE_REDIS_URL });
    const env = { HEADGATE_REDIS_URL, HEADGATE_OPS_PORT: new URL(gateway.opsUrl).port };
    for (const container of headgatesOf(objects)) {
      expect(probesOf(container).length).toBeGreaterThanOrEqual(2);
      for (const { httpGet, exec } of probesOf(container)) {
        if (httpGet !== undefined) {
          expect(listensForTheKubelet(container)).toBe(true);
          expect((await call(gateway.opsUrl, httpGet.path)).status).toBe(200);
        } else {
          const [program, ...args] = exec?.command ?? [];
          expect(program).toBe('headgate');
          expect(await runCommand(args, { env })).toMatchObject({ code: 0 });
        }
      }
    }
  });
});

describe('the example Secret', () => {
  const [example] = objectsOf(SECRET_FILE) as Secret[];

  test('has values that headgate refuses, because they are public', () => {
    const [container] = hasKubectl ? headgatesOf(rendered('base')) : [];
    const env = container?.env ?? [
      { name: 'HEADGATE_REDIS_URL', value: example?.stringData['redis-url'] },
      { name: 'HEADGATE_IP_SALT_SECRET', value: example?.stringData['ip-salt-secret'] },
      { name: 'HEADGATE_PROXY_SECRET', value: example?.stringData['proxy-secret'] },
      { name: 'HEADGATE_ADMIN_TOKEN', value: example?.stringData['admin-token'] },
    ];
    const refused = mistakesOf(() =>
      readEnvironment(
        environmentOf({ name: '', image: '', env } as Container, example?.stringData ?? {}),
      ),
    );
    expect(refused.map((mistake) => mistake.split(':')[0]).sort()).toEqual([
      'HEADGATE_ADMIN_TOKEN',
      'HEADGATE_IP_SALT_SECRET',
      'HEADGATE_PROXY_SECRET',
      'HEADGATE_REDIS_URL',
    ]);
  });
});

describe.skipIf(!hasKubectl)('the network policy', () => {
  test.each(['base', 'overlays/envoy-gateway', 'overlays/istio'])(
    'of %s allows checks, the ops port, Redis and DNS',
    (name) => {
      const { spec } = named<NetworkPolicy>(rendered(name), 'NetworkPolicy', 'headgate');
      expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
      const ports = (rules: readonly { ports: readonly { port: string | number }[] }[]) =>
        rules.map((rule) => rule.ports.map(({ port }) => port));
      expect(ports(spec.ingress)).toEqual([['http', 'grpc'], ['ops']]);
      expect(ports(spec.egress)).toEqual([[53, 53], [6379]]);
      for (const { from = [] } of spec.ingress) expect(from).toHaveLength(1);
      for (const { to = [] } of spec.egress) expect(to).toHaveLength(1);
      for (const peer of [
        ...spec.ingress.map(({ from }) => from),
        ...spec.egress.map(({ to }) => to),
      ])
        expect(peer?.[0]).toHaveProperty('namespaceSelector.matchLabels');
    },
  );

  test('fits the Services: gRPC is HTTP/2 without TLS, and the ops port has its own Service', () => {
    const services = ofKind<Service>(rendered('base'), 'Service');
    expect(
      services.map(({ spec }) => spec.ports.map((port) => [port.name, port.appProtocol])),
    ).toEqual([
      [
        ['http', 'http'],
        ['grpc', 'kubernetes.io/h2c'],
      ],
      [['ops', 'http']],
    ]);
  });
});

describe('files to paste', () => {
  const base = hasKubectl ? rendered('base') : [];
  const headgate = () => named<Service>(base, 'Service', 'headgate');

  test.skipIf(!hasKubectl).each(['contour/headgate.yaml', 'gateway-api/headgate.yaml'])(
    '%s names the Service of the base',
    (file) => {
      const objects = objectsOf(file);
      const ports = headgate().spec.ports.map(({ port }) => `headgate/headgate:${port}`);
      const places = servicesNamedIn(objects).filter((place) => place.startsWith('headgate/'));
      expect(places).not.toEqual([]);
      for (const place of places) expect(ports).toContain(place);
    },
  );

  test.skipIf(!hasKubectl)('Istio and ingress-nginx send checks to the Service of the base', () => {
    const host = 'headgate.headgate.svc.cluster.local';
    const port = (name: string) =>
      headgate().spec.ports.find((each) => each.name === name)?.port ?? 0;
    const url = new URL(ingressAnnotations().get('auth-url') ?? '');
    expect([url.hostname, Number(url.port), url.pathname]).toEqual([
      host,
      port('http'),
      '/ingress-nginx',
    ]);
    const { http, grpc } = istioProviders();
    expect(http).toMatchObject({ service: host, port: port('http'), pathPrefix: '/envoy' });
    expect(grpc).toMatchObject({ service: host, port: port('grpc') });
  });

  test('every proxy has a timeout of 200 ms', () => {
    const { http, grpc } = istioProviders();
    expect([http?.timeout, grpc?.timeout]).toEqual(['0.2s', '0.2s']);
    const [service, proxy] = objectsOf('contour/headgate.yaml');
    expect(service).toHaveProperty('spec.timeoutPolicy.response', '200ms');
    expect(proxy).toHaveProperty('spec.virtualhost.authorization.responseTimeout', '200ms');
    const [policy] = objectsOf('kubernetes/overlays/envoy-gateway/security-policy.yaml');
    expect(policy).toHaveProperty('spec.extAuth.timeout', '200ms');
  });

  test("Istio's policy names its provider, which sends the addresses of the peer and the client", () => {
    const [policy] = objectsOf('kubernetes/overlays/istio/authorization-policy.yaml');
    expect(policy).toHaveProperty('spec.provider.name', 'headgate-http');
    expect(istioProviders().http?.includeAdditionalHeadersInCheck).toEqual({
      'x-headgate-peer-ip': '%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%',
      'x-headgate-client-ip': '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%',
    });
  });
});

describe.skipIf(!hasKubectl)("the service of Envoy's rate limit filter", () => {
  const objects = hasKubectl ? rendered('overlays/ratelimit') : [];
  const environment = () => environmentOf(headgatesOf(objects)[0] as Container, SECRETS);
  const limits = () =>
    named<ConfigMap>(objects, 'ConfigMap', 'headgate-limits').data['limits.yaml'] ?? '';

  test('is open to proxies on the gRPC port alone', () => {
    const { port, socket, grpcPort } = readEnvironment(environment());
    expect({ port, socket, grpcPort }).toEqual({
      port: undefined,
      socket: undefined,
      grpcPort: 8081,
    });
    const services = ofKind<Service>(objects, 'Service');
    expect(services.map(({ spec }) => spec.ports.map(({ name }) => name))).toEqual([
      ['grpc'],
      ['ops'],
      ['grpc'],
    ]);
    const { spec } = named<NetworkPolicy>(objects, 'NetworkPolicy', 'headgate');
    expect(spec.ingress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([
      ['grpc'],
      ['ops'],
    ]);
  });

  test('has the limits of deploy/ratelimit, mounted so that changes reach the gateway', () => {
    const shipped = new URL('../../deploy/ratelimit/config/edge.yaml', import.meta.url);
    expect(parse(limits())).toEqual(parse(readFileSync(shipped, 'utf8')));
    const [deployment] = deployments(objects);
    const [container] = headgatesOf(objects);
    const folder = readEnvironment(environment()).rateLimit?.config;
    const mount = container?.volumeMounts?.find(({ mountPath }) => mountPath === folder);
    expect(mount?.subPath).toBeUndefined();
    const volume = deployment?.spec.template.spec.volumes?.find(({ name }) => name === mount?.name);
    expect(volume?.configMap?.name).toBe('headgate-limits');
  });

  test('denies the sixth login of a minute', async () => {
    const { HEADGATE_HOST: _ofTheImage, ...env } = environment();
    await using gateway = await startRateLimitGateway(limits(), {
      ...Object.fromEntries(Object.entries(env).filter(([name]) => !OF_THE_POD.test(name))),
    });
    const login = { generic_key: 'login', remote_address: '203.0.113.9' };
    const ask = () => gateway.client.ask({ domain: 'edge', descriptors: [descriptor(login)] });
    const codes: (string | undefined)[] = [];
    for (let i = 0; i < 6; i++) codes.push((await ask()).message?.overall_code);
    expect(codes).toEqual([...Array(5).fill('OK'), 'OVER_LIMIT']);
    expect((await call(gateway.opsUrl, '/readyz')).status).toBe(200);
  });
});

describe.skipIf(!hasKubectl)('the sidecar', () => {
  const objects = hasKubectl ? rendered('overlays/sidecar') : [];
  const envoyFile = () =>
    ofKind<ConfigMap>(objects, 'ConfigMap').find(({ data }) => 'envoy.yaml' in data)?.data[
      'envoy.yaml'
    ] ?? '';

  test('starts headgate, then Envoy, then the application', () => {
    const { initContainers = [], containers } = named<Deployment>(
      objects,
      'Deployment',
      'application',
    ).spec.template.spec;
    expect(initContainers.map(({ name, restartPolicy }) => [name, restartPolicy])).toEqual([
      ['headgate', 'Always'],
      ['envoy', 'Always'],
    ]);
    for (const { startupProbe } of initContainers) expect(startupProbe).toBeDefined();
    expect(containers.map(({ name }) => name)).toEqual(['application']);
  });

  test('is reachable only inside the pod', () => {
    const [container] = headgatesOf(objects);
    const { HEADGATE_HOST: _ofTheImage, ...env } = environmentOf(container as Container, SECRETS);
    const { socket, grpcPort, opsHost } = readEnvironment(env);
    expect({ socket, grpcPort, opsHost }).toEqual({
      socket: '/run/headgate/headgate.sock',
      grpcPort: undefined,
      opsHost: '127.0.0.1',
    });
    expect(envoyFile()).toContain(`pipe: { path: ${socket} }`);
  });

  test('has pods that are replaced if the Envoy file changes, but not if the policies change', () => {
    const names = ofKind<ConfigMap>(objects, 'ConfigMap').map(({ metadata }) => metadata.name);
    expect(names).toEqual([
      expect.stringMatching(/^application-envoy-[a-z0-9]{10}$/),
      'headgate-policies',
    ]);
  });

  test('has the listener of deploy/envoy/envoy.yaml', () => {
    const shipped = readFileSync(new URL('../../deploy/envoy/envoy.yaml', import.meta.url), 'utf8');
    const ingress = (text: string) =>
      (parse(text) as { static_resources: { listeners: unknown[] } }).static_resources.listeners[0];
    expect(ingress(envoyFile())).toEqual(ingress(shipped));
  });

  test.skipIf(!hasEnvoy)('has a valid Envoy file', () => {
    const file = join(folder, 'envoy.yaml');
    writeFileSync(file, envoyFile());
    execFileSync(findProgram('envoy') ?? 'envoy', ['--mode', 'validate', '-c', file], {
      stdio: 'pipe',
    });
  });

  test.skipIf(!hasEnvoy)(
    'allows five logins in five minutes, checked over the socket',
    async () => {
      const [container] = headgatesOf(objects);
      const policyFile = join(folder, 'policies.yaml');
      const socket = join(folder, 'headgate.sock');
      const { data } = named<ConfigMap>(objects, 'ConfigMap', 'headgate-policies');
      writeFileSync(policyFile, data['policies.yaml'] ?? '');
      await using upstream = await startUpstream();
      await using _gateway = await startGateway({
        ...environmentOf(container as Container, { ...SECRETS, 'redis-url': '' }),
        HEADGATE_LISTEN: `unix:${socket}`,
        HEADGATE_POLICIES: policyFile,
        HEADGATE_OPS_PORT: '0',
        HEADGATE_GRPC_PORT: 'off',
      });
      const [port, healthPort] = [await freePort(), await freePort()];
      await using envoy = await startSidecarEnvoy(port, {
        'address: 0.0.0.0, port_value: 8000': `address: 127.0.0.1, port_value: ${port}`,
        'address: 0.0.0.0, port_value: 8001': `address: 127.0.0.1, port_value: ${healthPort}`,
        'port_value: 3000': `port_value: ${upstream.port}`,
        '/run/headgate/headgate.sock': socket,
      });

      const { readinessProbe } =
        named<Deployment>(objects, 'Deployment', 'application').spec.template.spec
          .initContainers?.[1] ?? {};
      const ready = readinessProbe?.httpGet?.path ?? '';
      expect((await call(`http://127.0.0.1:${healthPort}`, ready)).status).toBe(200);

      const login = () => call(envoy.url, '/api/auth/login', { method: 'POST' });
      const allowed = await login();
      expect(allowed).toMatchObject({ status: 200, body: 'the application' });
      expect(allowed.headers).toMatchObject({
        'x-ratelimit-limit': '5',
        'x-ratelimit-remaining': '4',
      });
      expect(await statuses(4, login)).toEqual([200, 200, 200, 200]);
      const denied = await login();
      expect(denied.status).toBe(429);
      expect(denied.headers).toMatchObject({
        'x-ratelimit-remaining': '0',
        'x-ratelimit-policy': 'login',
        'retry-after': expect.stringMatching(/^\d+$/),
      });
      expect(JSON.parse(denied.body)).toMatchObject({ error: 'rate_limit_exceeded' });
      // Envoy sends the client's address. Another policy has another limit.
      expect((await call(envoy.url, '/ready')).headers['x-ratelimit-limit']).toBe('1000');
      expect(upstream.seen).toHaveLength(6);
    },
  );

  function startSidecarEnvoy(port: number, changes: Readonly<Record<string, string>>) {
    const run = mkdtempSync(join(folder, 'envoy-'));
    const behind = { text: envoyFile() };
    const file = changed('envoy.yaml', { folder: run, changes, behind });
    return runProxy('envoy', envoyArguments(file), port, run);
  }
});

/** `namespace/name:port` of every Service that the objects refer to. */
function servicesNamedIn(objects: readonly KubernetesObject[]): string[] {
  const found: string[] = [];
  const visit = (value: unknown, namespace: string) => {
    if (Array.isArray(value)) for (const item of value) visit(item, namespace);
    if (value === null || typeof value !== 'object') return;
    for (const [key, inner] of Object.entries(value)) {
      if (/^(backendRefs?|services)$/.test(key)) {
        for (const reference of [inner].flat() as ServiceReference[])
          found.push(`${reference.namespace ?? namespace}/${reference.name}:${reference.port}`);
      } else if (key === 'destination') {
        const { host, port } = inner as { host: string; port: { number: number } };
        const [service, where] = host.split('.');
        found.push(`${where}/${service}:${port.number}`);
      } else {
        visit(inner, namespace);
      }
    }
  };
  for (const object of objects) visit(object, object.metadata.namespace ?? '');
  return found;
}

interface ServiceReference {
  readonly name: string;
  readonly namespace?: string;
  readonly port: number;
}

interface IstioProvider {
  readonly service: string;
  readonly port: number;
  readonly timeout: string;
  readonly includeAdditionalHeadersInCheck?: Readonly<Record<string, string>>;
}

function istioProviders() {
  const file = new URL(
    '../../deploy/kubernetes/overlays/istio/istiod-values.yaml',
    import.meta.url,
  );
  const { meshConfig } = parse(readFileSync(file, 'utf8')) as {
    meshConfig: {
      extensionProviders: {
        name: string;
        envoyExtAuthzHttp?: IstioProvider;
        envoyExtAuthzGrpc?: IstioProvider;
      }[];
    };
  };
  const provider = (name: string) =>
    meshConfig.extensionProviders.find((each) => each.name === name);
  return {
    http: provider('headgate-http')?.envoyExtAuthzHttp,
    grpc: provider('headgate-grpc')?.envoyExtAuthzGrpc,
  };
}

/** Every name that the gateway reads from its environment. */
function namesOfSettings(): Set<string> {
  const names = new Set<string>();
  readEnvironment(
    new Proxy<NodeJS.ProcessEnv>(
      {},
      {
        get(_target, name) {
          names.add(String(name));
          return undefined;
        },
      },
    ),
  );
  return names;
}

function listensForTheKubelet(container: Container): boolean {
  return readEnvironment(environmentOf(container, SECRETS)).opsHost === '0.0.0.0';
}

function mistakesOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
}
