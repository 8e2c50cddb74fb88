/** Every field of the Kubernetes objects in deploy/ is one that Kubernetes or the project of the object knows. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { findProgram } from '../support/programs.ts';
import { KUBERNETES_VERSIONS } from './support/helm.ts';
import { invalidObjects, provideSchemas } from './support/kubernetes-schemas.ts';

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));
const [NEWEST] = KUBERNETES_VERSIONS;
const { kubeconform, kubectl } = inject('programs');

const read = (file: string) => readFileSync(join(DEPLOY, file), 'utf8');
const rendered = (folder: string) =>
  execFileSync(findProgram('kubectl') ?? 'kubectl', ['kustomize', join(DEPLOY, folder)], {
    encoding: 'utf8',
  });

/** Those to apply as they are. */
const FILES = globSync(
  ['ratelimit/kubernetes/*.yaml', '{contour,gateway-api}/*.yaml', 'kubernetes/base/secret*.yaml'],
  { cwd: DEPLOY },
).sort();
const FOLDERS = ['kubernetes/base', ...globSync('kubernetes/overlays/*', { cwd: DEPLOY })].sort();

describe.skipIf(kubeconform === undefined)('kubeconform', () => {
  beforeAll(() => provideSchemas(KUBERNETES_VERSIONS), 120_000);

  test.each(FILES)('%s', (file) => {
    expect(invalidObjects(read(file), NEWEST)).toBe('');
  });

  test.skipIf(kubectl === undefined).each(FOLDERS)('%s, as kubectl renders it', (folder) => {
    expect(invalidObjects(rendered(folder), NEWEST)).toBe('');
  });

  test('there are files and folders', () => {
    expect(FILES.length).toBeGreaterThan(6);
    expect(FOLDERS.length).toBeGreaterThan(3);
  });

  test.each([
    ['contour.yaml', 'failOpen', 'failOpn'],
    ['contour.yaml', 'protocol: h2c', 'protocol: h3'],
    ['emissary.yaml', 'timeout_ms: 100', 'timeout_ms: 100ms'],
    ['emissary.yaml', 'failure_mode_deny', 'failure_mode'],
    ['envoy-gateway.yaml', 'controllerName', 'controlerName'],
    ['envoy-gateway.yaml', '        image:', '        img:'],
    ['envoy-gateway.yaml', 'secretKeyRef', 'secretRef'],
    ['istio.yaml', 'readinessProbe', 'readyProbe'],
  ])('finds what is wrong in %s: %s as %s', (file, right, wrong) => {
    const text = read(`ratelimit/kubernetes/${file}`);
    expect(text).toContain(right);
    expect(invalidObjects(text.replace(right, wrong), NEWEST)).not.toBe('');
  });
});
