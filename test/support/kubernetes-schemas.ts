/**
 * JSON Schemas for kubeconform, which has none itself: those of Kubernetes from a package of PyPI, and those of the
 * Prometheus operator from the CRDs in its Go module.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { findProgram } from './provision.ts';

const WHEEL = 'kubernetes-validate==1.37.0';
const OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const CUSTOM_KINDS = ['servicemonitors', 'prometheusrules'];
const FOLDER = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'headgate/kubernetes-schemas-1.37.0-0.85.0',
);

type Schema = Record<string, unknown>;

/** What kubeconform says about objects of this version of Kubernetes; empty if they are valid. Unknown kinds are not. */
export function invalidObjects(manifests: string, kubernetesVersion: string): string {
  const location = join(FOLDER, kubernetesVersion, '{{.ResourceKind}}{{.KindSuffix}}.json');
  const args = ['-strict', '-kubernetes-version', kubernetesVersion, '-schema-location', location];
  const { status, stdout, stderr } = spawnSync(findProgram('kubeconform') ?? 'kubeconform', args, {
    encoding: 'utf8',
    input: manifests,
  });
  return status === 0 ? '' : `${stdout}${stderr}` || `kubeconform ended with ${status}`;
}

/** Downloads the schemas of these versions, unless they are here. */
export function provideSchemas(versions: readonly string[]): void {
  if (existsSync(FOLDER)) return;
  mkdirSync(dirname(FOLDER), { recursive: true });
  const folder = mkdtempSync(`${FOLDER}-`);
  try {
    const custom = customSchemas();
    const unpacked = downloadedSchemas(folder);
    for (const version of versions) {
      const target = join(folder, version);
      convertAll(join(unpacked, `v${version}-local-strict`), target);
      for (const [name, schema] of custom)
        writeFileSync(join(target, name), JSON.stringify(schema));
    }
    rmSync(join(folder, 'wheel'), { recursive: true });
    renameSync(folder, FOLDER);
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}

/** The folder with one folder for each version. */
function downloadedSchemas(folder: string): string {
  const wheels = join(folder, 'wheel');
  const pip = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:'];
  execFileSync('python3', [...pip, '--dest', wheels, WHEEL], { stdio: 'pipe' });
  const file = readdirSync(wheels)[0] ?? '';
  execFileSync('python3', ['-m', 'zipfile', '-e', join(wheels, file), wheels], { stdio: 'pipe' });
  return join(wheels, 'kubernetes_validate/kubernetes-json-schema');
}

/** The package serves them from an address: without it, references lead to the files beside. */
function convertAll(source: string, target: string): void {
  mkdirSync(target);
  for (const name of readdirSync(source)) {
    const text = readFileSync(join(source, name), 'utf8');
    const { $id, ...schema } = JSON.parse(
      text.replaceAll('"/api/_definitions.json', '"_definitions.json'),
    ) as Schema;
    writeFileSync(join(target, name), JSON.stringify(schema));
  }
}

/** By the name of the file. */
function customSchemas(): [string, Schema][] {
  const answer = execFileSync('go', ['mod', 'download', '-json', OPERATOR], { encoding: 'utf8' });
  const { Dir } = JSON.parse(answer) as { Dir: string };
  return CUSTOM_KINDS.map((plural) => {
    const file = `example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`;
    const { spec } = parse(readFileSync(join(Dir, file), 'utf8')) as CustomResourceDefinition;
    const [version] = spec.versions;
    const name = `${spec.names.singular}-monitoring-${version?.name}.json`;
    const schema = strict(version?.schema.openAPIV3Schema) as Schema;
    // Helm writes these, and the CRD says only that there is an object.
    const anything = { type: 'object' };
    return [
      name,
      { ...schema, properties: { ...(schema.properties as Schema), metadata: anything } },
    ];
  });
}

interface CustomResourceDefinition {
  readonly spec: {
    readonly names: { readonly singular: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

/** Kubernetes drops unknown fields silently; here they are errors. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (schema === null || typeof schema !== 'object') return schema;
  const { 'x-kubernetes-int-or-string': either, ...own } = schema as Schema;
  const inner = Object.fromEntries(Object.entries(own).map(([key, value]) => [key, strict(value)]));
  if (either === true) return { ...inner, type: ['integer', 'string'] };
  const isClosed = inner.properties !== undefined && inner.type === 'object';
  return isClosed && inner.additionalProperties === undefined
    ? { ...inner, additionalProperties: false }
    : inner;
}
