/**
 * The list of what is in the npm package and what it installs, in SPDX. `npm sbom --omit dev` leaves out the libraries
 * that are built into the package, and packages that are also development dependencies. So this reads the list of
 * everything, and keeps what users get:
 * `npm sbom --sbom-format spdx --package-lock-only | node tools/release/sbom.ts > FILE`, after `npm pack`.
 */
import { readFileSync } from 'node:fs';

export interface Spdx {
  readonly packages: readonly {
    readonly name: string;
    readonly SPDXID: string;
    readonly versionInfo: string;
  }[];
  readonly relationships: readonly {
    readonly spdxElementId: string;
    readonly relatedSpdxElement: string;
    readonly relationshipType: string;
  }[];
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: true }>>;
}

/** `NAME@VERSION` of each package that the lock file installs for users. */
export function installedPackages({ packages }: LockFile): string[] {
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`);
}

/** `NAME@VERSION` of each library in the page of licenses that `tools/build/licenses.ts` writes. */
export function builtInPackages(licenses: string): string[] {
  return [...licenses.matchAll(/^## (\S+) (\d\S*)$/gm)].map(
    ([, name, version]) => `${name}@${version}`,
  );
}

/** @throws {Error} if one of the packages to keep is not in the document. */
export function sbomOf<D extends Spdx>(document: D, kept: readonly string[]): D {
  const [root, ...others] = document.packages;
  const idOf = (each: D['packages'][number]) => `${each.name}@${each.versionInfo}`;
  const packages = others.filter((each) => kept.includes(idOf(each)));
  const missing = kept.filter((id) => !packages.some((each) => idOf(each) === id));
  if (root === undefined || missing.length > 0)
    throw new Error(`npm sbom lacks ${missing.join(', ')}`);
  const ids = new Set(['SPDXRef-DOCUMENT', ...[root, ...packages].map(({ SPDXID }) => SPDXID)]);
  const relationships = document.relationships
    .filter((each) => ids.has(each.spdxElementId) && ids.has(each.relatedSpdxElement))
    // What is built in is listed as a development dependency.
    .map((each) => ({
      ...each,
      relationshipType: each.relationshipType.replace('DEV_DEPENDENCY_OF', 'DEPENDENCY_OF'),
    }));
  return { ...document, packages: [root, ...packages], relationships };
}

if (import.meta.main) {
  const lock: LockFile = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const licenses = readFileSync('dist/libraries/LICENSES.md', 'utf8');
  const kept = [...new Set([...installedPackages(lock), ...builtInPackages(licenses)])];
  const document: Spdx = JSON.parse(readFileSync(0, 'utf8'));
  console.log(JSON.stringify(sbomOf(document, kept), null, 2));
}
