/** JSON Schemas of the custom resources that the files of deploy/ have, from the CRDs in the Go modules of their projects. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

export type Schema = Readonly<Record<string, unknown>>;

/** Modules with their versions, and where they have CRDs. */
const CUSTOM_RESOURCES: Readonly<Record<string, readonly string[]>> = {
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'example/prometheus-operator-crd/monitoring.coreos.com_{servicemonitors,prometheusrules}.yaml',
  ],
  'github.com/envoyproxy/gateway@v1.9.1': [
    'charts/gateway-helm/charts/crds/crds/generated/*.yaml',
    // Of the Gateway API.
    'charts/gateway-helm/charts/crds/crds/gatewayapi-crds.yaml',
  ],
  'github.com/projectcontour/contour@v1.33.8': ['examples/contour/01-crds.yaml'],
  'istio.io/api@v1.31.4': ['kubernetes/customresourcedefinitions.gen.yaml'],
  'github.com/emissary-ingress/emissary/v3@v3.9.1': ['pkg/api/getambassador.io/crds.yaml'],
};

interface Definition {
  readonly kind: string;
  readonly spec: {
    readonly group: string;
    readonly names: { readonly singular: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema?: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

/** By the names under which kubeconform looks for them. */
export function customSchemas(): ReadonlyMap<string, Schema> {
  const modules = Object.keys(CUSTOM_RESOURCES);
  const folders = downloaded(modules);
  const files = modules.flatMap((module, i) =>
    globSync([...(CUSTOM_RESOURCES[module] ?? [])], { cwd: folders[i] ?? '' }).map((file) =>
      join(folders[i] ?? '', file),
    ),
  );
  const schemas = new Map(files.flatMap(definitionsIn).flatMap(schemasOf));
  schemas.set('envoygateway-gateway-v1alpha1.json', envoyGateway(schemas));
  return schemas;
}

/** The folder of each module. Go keeps what it has downloaded, and tells by their sums whether files changed. */
function downloaded(modules: readonly string[]): string[] {
  const answer = execFileSync('go', ['mod', 'download', '-json', ...modules], { encoding: 'utf8' });
  return [...answer.matchAll(/^\t"Dir": (".*"),?$/gm)].map(([, path = '']) => JSON.parse(path));
}

function definitionsIn(file: string): Definition[] {
  const documents = parseAllDocuments(readFileSync(file, 'utf8'));
  return documents
    .map((document) => document.toJS() as Definition | null)
    .filter((object) => object !== null)
    .filter(({ kind }) => kind === 'CustomResourceDefinition');
}

const TEXT: Schema = { type: 'string' };
/** CRDs leave them out, or say only that there is an object. */
const OF_EVERY_OBJECT = { apiVersion: TEXT, kind: TEXT, metadata: { type: 'object' } };

function schemasOf({ spec: { group, names, versions } }: Definition): [string, Schema][] {
  return versions.map(({ name: version, schema }) => {
    const name = `${names.singular}-${group.split('.')[0]}-${version}.json`;
    const all = strict(schema?.openAPIV3Schema ?? {}) as Schema;
    return [name, { ...all, properties: { ...(all.properties as Schema), ...OF_EVERY_OBJECT } }];
  });
}

/** Kubernetes drops unknown fields silently; here they are errors. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (schema === null || typeof schema !== 'object') return schema;
  const {
    'x-kubernetes-int-or-string': either,
    'x-kubernetes-preserve-unknown-fields': isOpen,
    ...own
  } = schema as Schema;
  const inner = Object.fromEntries(Object.entries(own).map(([key, value]) => [key, strict(value)]));
  if (either === true) return { ...inner, type: ['integer', 'string'] };
  const isClosed = inner.properties !== undefined && inner.type === 'object' && isOpen !== true;
  return isClosed && inner.additionalProperties === undefined
    ? { ...inner, additionalProperties: false }
    : inner;
}

/**
 * The configuration of Envoy Gateway is a file and has no CRD. Its rate limit Deployment has the type of the Deployments
 * of an EnvoyProxy, which has one; the names around it are those of api/v1alpha1/envoygateway_types.go.
 */
function envoyGateway(schemas: ReadonlyMap<string, Schema>): Schema {
  const proxy = schemas.get('envoyproxy-gateway-v1alpha1.json');
  const path = ['spec', 'provider', 'kubernetes', 'envoyDeployment'];
  const rateLimitDeployment = path.reduce<Schema | undefined>(
    (schema, name) => (schema?.properties as Readonly<Record<string, Schema>> | undefined)?.[name],
    proxy,
  );
  if (rateLimitDeployment === undefined) throw new Error(`EnvoyProxy has no ${path.join('.')}`);
  return closed({
    apiVersion: TEXT,
    kind: TEXT,
    gateway: closed({ controllerName: TEXT }),
    provider: closed({
      type: { const: 'Kubernetes' },
      kubernetes: closed({ rateLimitDeployment }),
    }),
    rateLimit: closed({
      backend: closed({ type: { const: 'Redis' }, redis: closed({ url: TEXT }) }),
    }),
  });
}

function closed(properties: Schema): Schema {
  return { type: 'object', additionalProperties: false, properties };
}
