/** The rooms of src: the folders of gateway, and those of cli that several commands use. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

/** Each room and the rooms that it may import. A room may import itself. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'gateway/app': [
    'gateway/config',
    'gateway/core',
    'gateway/denials',
    'gateway/dialects',
    'gateway/keys',
    'gateway/operations',
    'gateway/ratelimit',
    'gateway/server',
    'gateway/settlement',
    'gateway/stores',
    'gateway/telemetry',
  ],
  'gateway/server': [
    'gateway/config',
    'gateway/core',
    'gateway/http2',
    'gateway/operations',
    'gateway/protobuf',
  ],
  'gateway/operations': [
    'gateway/config',
    'gateway/core',
    'gateway/denials',
    'gateway/dialects',
    'gateway/keys',
    'gateway/stores',
    'gateway/telemetry',
  ],
  'gateway/ratelimit': ['gateway/config', 'gateway/core', 'gateway/dialects', 'gateway/protobuf'],
  'gateway/settlement': ['gateway/core', 'gateway/protobuf'],
  'gateway/denials': ['gateway/core'],
  'gateway/telemetry': ['gateway/config', 'gateway/core'],
  'gateway/config': ['gateway/core', 'gateway/dialects', 'gateway/settlement'],
  'gateway/dialects': ['gateway/core', 'gateway/protobuf'],
  'gateway/keys': ['gateway/core', 'gateway/stores'],
  'gateway/stores': ['gateway/config', 'gateway/core'],
  'gateway/http2': [],
  'gateway/protobuf': [],
  'gateway/core': [],
  'cli/policy-tests': [
    'gateway/config',
    'gateway/core',
    'gateway/operations',
    'gateway/settlement',
    'gateway/stores',
  ],
  'cli/evidence': [
    'cli/output',
    'gateway/config',
    'gateway/core',
    'gateway/operations',
    'gateway/stores',
  ],
  'cli/proxy-files': ['cli/output', 'gateway/config', 'gateway/core'],
  'cli/ops-client': ['cli/environment', 'cli/output', 'gateway/operations'],
  'cli/environment': ['gateway/config'],
  'cli/output': ['gateway/config', 'gateway/core'],
};

/** What a command may import of other commands. Every command may import every room. */
export const BETWEEN_COMMANDS = [
  'check -> doctor',
  'demo -> serve',
  'doctor -> check',
  'explain -> doctor',
  'init -> check',
  'ratelimit -> serve',
];

export const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .sort();

/** The folder of a file below its wing: a room such as `gateway/core`, a command such as `cli/check`, or the file itself. */
export const placeOf = (file: string) => file.split('/').slice(0, 2).join('/');
export const isRoom = (place: string) => Object.hasOwn(ROOMS, place);
export const isCommand = (place: string) => /^cli\/[^.]+$/.test(place) && !isRoom(place);

export const sourceOf = (file: string) => readFileSync(join(SRC, file), 'utf8');

/** Every specifier that a file imports; those of this project are paths below src. */
export function importsOf(file: string): string[] {
  const specifiers = [...sourceOf(file).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)];
  return specifiers.map(([, name = '']) =>
    name.startsWith('.') ? relative(SRC, join(SRC, file, '..', name)) : name,
  );
}

const known = new Set(files);
export const localImports = (file: string) => importsOf(file).filter((name) => known.has(name));

/** `from -> to` for every pair of places of which one imports the other. */
export function arrows(): string[] {
  const pairs = files.flatMap((file) =>
    localImports(file)
      .filter((imported) => placeOf(imported) !== placeOf(file))
      .map((imported) => `${placeOf(file)} -> ${placeOf(imported)}`),
  );
  return [...new Set(pairs)].sort();
}
