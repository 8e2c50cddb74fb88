/**
 * Makes the optional peer dependencies of an unpacked package normal ones, in the versions that the tests use. So
 * `npm ci --omit=dev` installs them in the image, in the versions of the lock file: `node tools/image/add-tracing.ts FOLDER`
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** Throws an Error if the tests use no version of one of them. */
export function withPeers<M extends Manifest>(manifest: M): M {
  const dependencies = { ...manifest.dependencies };
  const devDependencies = { ...manifest.devDependencies };
  for (const name of Object.keys(manifest.peerDependencies)) {
    const version = devDependencies[name];
    if (version === undefined) throw new Error(`package.json: add ${name} to devDependencies`);
    dependencies[name] = version;
    delete devDependencies[name];
  }
  return { ...manifest, dependencies, devDependencies };
}

if (import.meta.main) {
  const file = join(process.argv[2] ?? '.', 'package.json');
  const manifest = withPeers(JSON.parse(readFileSync(file, 'utf8')));
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}
