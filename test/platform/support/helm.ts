/** The chart of deploy/helm, as `helm` renders it. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../../support/programs.ts';
import { type KubernetesObject, objectsIn } from './kubernetes.ts';

export const CHART = fileURLToPath(new URL('../../../deploy/helm/headgate', import.meta.url));
/** The newest Kubernetes whose schemas the tests have, and the oldest that Chart.yaml admits. */
export const KUBERNETES_VERSIONS = ['1.37.0', '1.27.0'] as const;

export interface HelmResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function helm(args: readonly string[], input = ''): HelmResult {
  const program = findProgram('helm') ?? 'helm';
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', input });
  return { code: status, stdout, stderr };
}

/** The names of the value files in deploy/helm/headgate/ci. */
export function valueFiles(): string[] {
  return readdirSync(join(CHART, 'ci')).sort();
}

export function valueFile(name: string): string {
  return join(CHART, 'ci', name);
}

/** The manifests for the release `headgate` in the namespace `headgate`. Throws what helm complains about. */
export function manifests(args: readonly string[], values = ''): string {
  const { code, stdout, stderr } = template(CHART, args, values);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** Renders with these values, as YAML, in addition to `args`. */
export function renderedChart(args: readonly string[], values = ''): KubernetesObject[] {
  return objectsIn(manifests(args, values));
}

/** What helm prints instead of manifests. Throws if it accepts the values. */
export function refusalOf(values: string, args: readonly string[] = []): string {
  const { code, stderr } = template(CHART, args, values);
  if (code === 0) throw new Error(`helm accepts ${values}`);
  return stderr;
}

/** The notes after an installation. `helm template` has no option for them, so a copy of the chart puts them in an object. */
export function notesOf(args: readonly string[], values = ''): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-chart-'));
  try {
    cpSync(CHART, folder, { recursive: true });
    cpSync(join(folder, 'templates/NOTES.txt'), join(folder, 'files/NOTES.txt'));
    const object =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: notes }\n' +
      'data: { notes: {{ tpl (.Files.Get "files/NOTES.txt") . | toJson }} }\n';
    writeFileSync(join(folder, 'templates/notes.yaml'), object);
    const { code, stdout, stderr } = template(folder, args, values);
    if (code !== 0) throw new Error(stderr);
    const notes = objectsIn(stdout).find(({ metadata }) => metadata.name === 'notes');
    return (notes as unknown as { data: { notes: string } }).data.notes;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function template(chart: string, args: readonly string[], values: string): HelmResult {
  const [newest] = KUBERNETES_VERSIONS;
  const release = ['template', 'headgate', chart, '--namespace', 'headgate'];
  return helm([...release, '--kube-version', newest, ...args, '--values', '-'], values);
}

export function chartFile(name: string): string {
  return readFileSync(join(CHART, name), 'utf8');
}
