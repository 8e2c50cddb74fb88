/**
 * Builds small libraries into the package, after tsc: each package that dist imports and package.json does not list
 * under "dependencies" or "peerDependencies" becomes a file of dist/libraries, with only the exports in use. Users
 * install fewer packages, and not the parts that headgate does not use. The four that run a gateway stay dependencies,
 * so that a user can update them alone: fastify, ioredis, pino and yaml.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, rolldown } from 'rolldown';
import { packageImports, packageOf, withImports } from './imports.ts';
import { licensesOf } from './licenses.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIST = join(ROOT, 'dist');
const LIBRARIES = join(DIST, 'libraries');
const ENTRY = 'entry:';

const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
);
const isInstalled = (specifier: string) =>
  packageOf(specifier) in dependencies || packageOf(specifier) in peerDependencies;
const fileNameOf = (specifier: string) => `${specifier.replaceAll('/', '-')}.js`;

const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.js'))
  .map((name) => join(DIST, name));

const used = namesInUse(files);
await bundle(used);
for (const file of files) useLibraries(file);

/** The names that the files import from each package that is built in. */
function namesInUse(files: readonly string[]): Map<string, Set<string>> {
  const used = new Map<string, Set<string>>();
  for (const { specifier, names } of files.flatMap((file) => importsOf(file))) {
    if (!isInstalled(specifier))
      used.set(specifier, new Set([...(used.get(specifier) ?? []), ...names]));
  }
  return used;
}

function importsOf(file: string) {
  try {
    return packageImports(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(`${relative(ROOT, file)}: ${cause}`, { cause });
  }
}

async function bundle(used: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
  const build = await rolldown({
    input: Object.fromEntries([...used.keys()].map((name) => [name, ENTRY + name])),
    platform: 'node',
    plugins: [
      {
        name: 'entries',
        resolveId: (id) => (id.startsWith(ENTRY) ? id : null),
        load: (id) => (id.startsWith(ENTRY) ? entryOf(id.slice(ENTRY.length), used) : null),
      },
    ],
  });
  const { output } = await build.write({
    dir: LIBRARIES,
    format: 'esm',
    entryFileNames: ({ name }) => fileNameOf(name),
    chunkFileNames: 'shared.js',
  });
  const modules = output.filter((part): part is OutputChunk => part.type === 'chunk');
  const paths = modules.flatMap((chunk) => chunk.moduleIds).filter((id) => !id.startsWith(ENTRY));
  writeFileSync(join(LIBRARIES, 'LICENSES.md'), licensesOf(paths));
}

function entryOf(specifier: string, used: ReadonlyMap<string, ReadonlySet<string>>): string {
  const names = [...(used.get(specifier) ?? [])].join(', ');
  return `export { ${names} } from '${join(ROOT, 'node_modules', specifier)}';`;
}

function useLibraries(file: string): void {
  const code = readFileSync(file, 'utf8');
  const changed = withImports(code, (specifier) =>
    used.has(specifier)
      ? relative(dirname(file), join(LIBRARIES, fileNameOf(specifier))).replace(/^(?!\.)/, './')
      : undefined,
  );
  if (changed !== code) writeFileSync(file, changed);
}
