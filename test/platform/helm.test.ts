/** The chart of deploy/helm: `helm` accepts it, Kubernetes would accept its objects, and headgate what is in them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { runCommand } from '../support/command.ts';
import {
  CHART,
  chartFile,
  helm,
  KUBERNETES_VERSIONS,
  manifests,
  renderedChart,
  valueFile,
  valueFiles,
} from './support/helm.ts';
import {
  type ConfigMap,
  containersOf,
  type Deployment,
  environmentOf,
  type KubernetesObject,
  named,
  ofKind,
  probesOf,
  restrictedViolations,
} from './support/kubernetes.ts';
import { invalidObjects, provideSchemas } from './support/kubernetes-schemas.ts';

const { helm: hasHelm, kubeconform: hasKubeconform } = inject('programs');
const FILES = valueFiles();
const SECRETS: Readonly<Record<string, string>> = {
  'redis-url': 'redis://headgate@redis.redis.svc.cluster.local:6379/0',
  'ip-salt-secret': 's'.repeat(32),
  'admin-token': 'a'.repeat(16),
  'proxy-secret': 'p'.repeat(16),
};

const folder = mkdtempSync(join(tmpdir(), 'headgate-helm-'));
afterAll(() => rmSync(folder, { recursive: true }));

const chart = parse(chartFile('Chart.yaml')) as { version: string; appVersion: string };

test('the chart has the version of the package, and so has the image', () => {
  const file = new URL('../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  expect(chart).toMatchObject({ version, appVersion: version });
});

test.each([
  ['files/policies.yaml', 'kubernetes/base/policies.yaml'],
  ['files/alerts.yaml', 'prometheus/alerts.yaml'],
])('%s is a copy of deploy/%s (else: copy it again)', (copy, original) => {
  const file = new URL(`../../deploy/${original}`, import.meta.url);
  expect(chartFile(copy)).toBe(readFileSync(file, 'utf8'));
});

describe.skipIf(!hasHelm).each(FILES)('ci/%s', (name) => {
  const values = ['--values', valueFile(name)];
  const deploymentOf = (objects: readonly KubernetesObject[]) =>
    ofKind<Deployment>(objects, 'Deployment')[0] as Deployment;

  test('helm lint --strict has nothing to say', () => {
    const [version] = KUBERNETES_VERSIONS;
    const linted = helm([
      'lint',
      '--strict',
      '--quiet',
      '--kube-version',
      version,
      CHART,
      ...values,
    ]);
    expect(linted).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('the pod passes the Pod Security Standard "restricted"', () => {
    const { spec } = deploymentOf(renderedChart(values)).spec.template;
    expect(restrictedViolations(spec)).toEqual([]);
    expect(spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    expect(spec.containers[0]?.securityContext?.readOnlyRootFilesystem).toBe(true);
  });

  test('the gateway accepts its environment, and answers where probes and Services ask', () => {
    const objects = renderedChart(values);
    const deployment = deploymentOf(objects);
    const [container] = containersOf(deployment);
    if (container === undefined) throw new Error('no container');
    const secrets = { ...SECRETS, url: SECRETS['redis-url'] ?? '', token: 'a'.repeat(16) };
    const { opsHost, drainMs, replicas, redis } = readEnvironment(
      environmentOf(container, { ...secrets, proxy: 'p'.repeat(16), salt: 's'.repeat(32) }),
    );
    expect(deployment.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(
      drainMs / 1000 + 6,
    );
    const isOpen = !['127.0.0.1', '::1'].includes(opsHost);
    for (const { httpGet } of probesOf(container)) expect(httpGet !== undefined).toBe(isOpen);
    expect(probesOf(container).length).toBeGreaterThanOrEqual(2);
    const pods = parse(manifests(['--show-only', 'templates/deployment.yaml', ...values])).spec
      .replicas;
    if (redis !== undefined && pods !== undefined) expect(replicas).toBe(pods);
    if (redis === undefined) expect(pods).toBe(1);
  });

  test('headgate check --strict accepts the policy file and the key file', async () => {
    const objects = renderedChart(values);
    const maps = ofKind<ConfigMap>(objects, 'ConfigMap');
    if (name === 'existing-objects.yaml') return expect(maps).toEqual([]);
    const { data } = named<ConfigMap>(objects, 'ConfigMap', 'headgate-policies');
    const file = writeMounted(objects, name, data['policies.yaml'] ?? '');
    expect(await runCommand(['check', '--strict', file])).toMatchObject({ code: 0 });
  });
});

/** Writes the policy file and its keys as the pod has them. */
function writeMounted(objects: readonly KubernetesObject[], name: string, text: string): string {
  const mounted = mkdtempSync(join(folder, `${name}-`));
  writeFileSync(join(mounted, 'policies.yaml'), text);
  const keys = ofKind<ConfigMap>(objects, 'Secret').find(({ data }) => 'keys.yaml' in data);
  if (keys !== undefined) {
    const file = Buffer.from(keys.data['keys.yaml'] ?? '', 'base64');
    writeFileSync(join(mounted, 'keys.yaml'), file);
  }
  return join(mounted, 'policies.yaml');
}

/** The value files in the README of the chart. */
const EXAMPLES = [...chartFile('README.md').matchAll(/^( *)```yaml\n([\s\S]*?)\n *```$/gm)].map(
  ([, indent = '', text = '']) => text.replaceAll(`\n${indent}`, '\n').slice(indent.length),
);

describe.skipIf(!hasHelm || !hasKubeconform)('kubeconform', () => {
  beforeAll(() => provideSchemas(KUBERNETES_VERSIONS));

  test.each(FILES)('ci/%s: the newest and the oldest Kubernetes know every field', (name) => {
    const text = manifests(['--values', valueFile(name)]);
    for (const version of KUBERNETES_VERSIONS) expect(invalidObjects(text, version)).toBe('');
  });

  test.each(EXAMPLES.map((text, i) => [i + 1, text]))('example %i of the README', (_i, text) => {
    const [version] = KUBERNETES_VERSIONS;
    expect(invalidObjects(manifests([], String(text)), version)).toBe('');
    expect(EXAMPLES).toHaveLength(5);
  });

  test('finds what is wrong, so the test above can fail', () => {
    const [version] = KUBERNETES_VERSIONS;
    const valid = manifests(['--values', valueFile('monitoring.yaml')]);
    const wrong = (from: string, to: string) => {
      expect(valid).toContain(from);
      return invalidObjects(valid.replace(from, to), version);
    };
    expect(wrong('seccompProfile', 'seccompProfil')).toContain('seccompProfil');
    expect(wrong('scrapeTimeout', 'scrapeTimout')).toContain('scrapeTimout');
    expect(wrong('alert: HeadgateDown', 'alarm: HeadgateDown')).toContain('alarm');
    expect(wrong('kind: ServiceMonitor', 'kind: ServiceMonitr')).toContain('ServiceMonitr');
  });
});
