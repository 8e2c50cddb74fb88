/** The objects that `kubectl kustomize` makes from deploy/kubernetes, with the fields that the tests use. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { findProgram } from '../../support/programs.ts';

const DEPLOY = new URL('../../../deploy/', import.meta.url);

export type Labels = Readonly<Record<string, string>>;

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Labels;
    readonly annotations?: Labels;
  };
}

export interface ConfigMap extends KubernetesObject {
  readonly data: Readonly<Record<string, string>>;
}

export interface Secret extends KubernetesObject {
  readonly stringData: Readonly<Record<string, string>>;
}

interface LabelSelector {
  readonly matchLabels: Labels;
}

export interface Service extends KubernetesObject {
  readonly spec: { readonly selector: Labels; readonly ports: readonly ServicePort[] };
}

interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly targetPort: string | number;
  readonly appProtocol?: string;
}

export interface NetworkPolicy extends KubernetesObject {
  readonly spec: {
    readonly podSelector: LabelSelector;
    readonly policyTypes: readonly string[];
    readonly ingress: readonly { from?: readonly unknown[]; ports: readonly PolicyPort[] }[];
    readonly egress: readonly { to?: readonly unknown[]; ports: readonly PolicyPort[] }[];
  };
}

interface PolicyPort {
  readonly port: string | number;
}

export interface PodDisruptionBudget extends KubernetesObject {
  readonly spec: { readonly selector: LabelSelector };
}

export interface Autoscaler extends KubernetesObject {
  readonly spec: {
    readonly scaleTargetRef: { readonly kind: string; readonly name: string };
    readonly minReplicas: number;
  };
}

export interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly strategy: { readonly rollingUpdate: { readonly maxUnavailable: number } };
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
  };
}

export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly securityContext?: SecurityContext;
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: LabelSelector }[];
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly Volume[];
}

interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly secret?: { readonly secretName: string };
  readonly emptyDir?: object;
}

interface SecurityContext {
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly procMount?: string;
  readonly seccompProfile?: { readonly type: string };
  readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly restartPolicy?: string;
  readonly env?: readonly EnvironmentVariable[];
  readonly ports?: readonly {
    readonly name: string;
    readonly containerPort: number;
    readonly hostPort?: number;
  }[];
  readonly resources?: {
    readonly requests?: Labels;
    readonly limits?: Labels;
  };
  readonly securityContext?: SecurityContext;
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly subPath?: string;
  }[];
}

interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef: {
      readonly name: string;
      readonly key: string;
      readonly optional?: boolean;
    };
  };
}

export interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string | number };
  readonly exec?: { readonly command: readonly string[] };
}

/** The objects of a folder of deploy/kubernetes. */
export function rendered(folder: string): KubernetesObject[] {
  const path = fileURLToPath(new URL(`kubernetes/${folder}`, DEPLOY));
  const kubectl = findProgram('kubectl') ?? 'kubectl';
  return objectsIn(execFileSync(kubectl, ['kustomize', path], { encoding: 'utf8' }));
}

/** The objects of a file of deploy/. */
export function objectsOf(file: string): KubernetesObject[] {
  return objectsIn(readFileSync(new URL(file, DEPLOY), 'utf8'));
}

/** The objects of a text with YAML documents, without empty documents. */
export function objectsIn(text: string): KubernetesObject[] {
  const documents = parseAllDocuments(text).filter(({ contents }) => contents !== null);
  return documents.map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS({ maxAliasCount: -1 }) as KubernetesObject;
  });
}

export function ofKind<T extends KubernetesObject>(
  objects: readonly KubernetesObject[],
  kind: string,
): T[] {
  return objects.filter((object): object is T => object.kind === kind);
}

export function named<T extends KubernetesObject>(
  objects: readonly KubernetesObject[],
  kind: string,
  name: string,
): T {
  const found = ofKind<T>(objects, kind).find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new Error(`there must be a ${kind} called ${name}`);
  return found;
}

/** Deployments of this namespace whose pods have these labels. */
export function selected(
  objects: readonly KubernetesObject[],
  { metadata: { namespace } }: KubernetesObject,
  labels: Labels,
): Deployment[] {
  return ofKind<Deployment>(objects, 'Deployment').filter(({ metadata, spec }) => {
    const found = spec.template.metadata.labels;
    return (
      metadata.namespace === namespace &&
      Object.entries(labels).every(([name, value]) => found[name] === value)
    );
  });
}

export function containersOf({ spec }: Deployment): Container[] {
  const { initContainers = [], containers } = spec.template.spec;
  return [...initContainers, ...containers];
}

/** The containers named headgate. */
export function headgatesOf(objects: readonly KubernetesObject[]): Container[] {
  return ofKind<Deployment>(objects, 'Deployment')
    .flatMap(containersOf)
    .filter(({ name }) => name === 'headgate');
}

export function probesOf({ startupProbe, readinessProbe, livenessProbe }: Container): Probe[] {
  return [startupProbe, readinessProbe, livenessProbe].filter((probe) => probe !== undefined);
}

/** The environment of a container, from the image, the manifest and these secrets. */
export function environmentOf(
  { env = [] }: Container,
  secrets: Readonly<Record<string, string>>,
): Record<string, string | undefined> {
  const set = env.map(({ name, value, valueFrom }) => [
    name,
    value ?? secrets[valueFrom?.secretKeyRef.key ?? ''],
  ]);
  return { HEADGATE_HOST: '0.0.0.0', ...Object.fromEntries(set) };
}

const VOLUMES = new Set(['name', 'configMap', 'secret', 'emptyDir', 'projected', 'downwardAPI']);
const ADDABLE = ['NET_BIND_SERVICE'];

/** What the Pod Security Standard "restricted", which includes "baseline", forbids in this Linux pod. */
export function restrictedViolations(pod: PodSpec): string[] {
  const { hostNetwork, hostPID, hostIPC, securityContext: whole = {}, volumes = [] } = pod;
  const violations: string[] = [];
  if (hostNetwork || hostPID || hostIPC) violations.push('namespaces of the host');
  for (const volume of volumes) {
    for (const type of Object.keys(volume))
      if (!VOLUMES.has(type)) violations.push(`volume ${volume.name}: ${type}`);
  }
  for (const { name, securityContext: own = {}, ports = [] } of [
    ...(pod.initContainers ?? []),
    ...pod.containers,
  ]) {
    const forbid = (forbidden: boolean, what: string) => {
      if (forbidden) violations.push(`${name}: ${what}`);
    };
    const { drop = [], add = [] } = own.capabilities ?? {};
    const seccomp = own.seccompProfile?.type ?? whole.seccompProfile?.type;
    forbid((own.runAsNonRoot ?? whole.runAsNonRoot) !== true, 'runAsNonRoot');
    forbid((own.runAsUser ?? whole.runAsUser) === 0, 'runAsUser');
    forbid(own.privileged === true, 'privileged');
    forbid(own.allowPrivilegeEscalation !== false, 'allowPrivilegeEscalation');
    forbid(seccomp !== 'RuntimeDefault' && seccomp !== 'Localhost', 'seccompProfile');
    forbid(!drop.includes('ALL'), 'capabilities.drop');
    forbid(
      add.some((capability) => !ADDABLE.includes(capability)),
      'capabilities.add',
    );
    forbid((own.procMount ?? 'Default') !== 'Default', 'procMount');
    forbid(
      ports.some(({ hostPort }) => hostPort !== undefined),
      'hostPort',
    );
  }
  return violations;
}
