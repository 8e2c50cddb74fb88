import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

/** The rooms that each room may import. Each may import itself. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  main: ['cli'],
  cli: [
    'app',
    'config',
    'core',
    'denials',
    'doctor',
    'import',
    'insight',
    'operations',
    'proxy-config',
    'ratelimit',
    'setup',
    'telemetry',
  ],
  app: [
    'config',
    'core',
    'denials',
    'dialects',
    'operations',
    'ratelimit',
    'salts',
    'server',
    'stores',
    'telemetry',
    'tracing',
  ],
  'proxy-config': ['config', 'core'],
  ratelimit: ['config', 'core', 'dialects', 'protobuf'],
  setup: ['config', 'core', 'proxy-config'],
  import: ['config', 'core'],
  insight: ['config', 'core', 'operations', 'salts', 'stores'],
  server: ['config', 'core', 'operations', 'protobuf'],
  operations: ['config', 'core', 'denials', 'dialects', 'salts', 'stores', 'telemetry'],
  doctor: ['config', 'core', 'proxy-config', 'stores'],
  salts: ['core', 'stores'],
  denials: ['core'],
  dialects: ['core', 'protobuf'],
  stores: ['config', 'core'],
  telemetry: ['core'],
  tracing: ['config', 'core', 'telemetry'],
  config: ['core', 'dialects'],
  core: [],
  protobuf: [],
};

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);
const partOf = (file: string) => file.split('/')[0]?.replace(/\.ts$/, '') ?? '';

function importsOf(file: string): string[] {
  const source = readFileSync(join(SRC, file), 'utf8');
  const specifiers = [...source.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
    (match) => match[1] ?? '',
  );
  return specifiers.map((name) =>
    name.startsWith('.') ? relative(SRC, join(SRC, file, '..', name)) : name,
  );
}

const local = (file: string) => importsOf(file).filter((name) => files.includes(name));

test.each(files)('%s imports along the arrows', (file) => {
  const part = partOf(file);
  for (const imported of local(file)) {
    expect([part, ...(ALLOWED[part] ?? [])]).toContain(partOf(imported));
  }
});

/** The rooms of config that each of them may import. Each may import itself and the files directly in config/. */
const CONFIG_ROOMS: Readonly<Record<string, readonly string[]>> = {
  check: ['policy-file'],
  'envoyproxy-ratelimit': ['settings'],
  'policy-file': [],
  settings: [],
};
const configRoomOf = (file: string) => /^config\/([^/]+)\//.exec(file)?.[1];

test('config has exactly the listed rooms', () => {
  const rooms = new Set(files.flatMap((file) => configRoomOf(file) ?? []));
  expect([...rooms].sort()).toEqual(Object.keys(CONFIG_ROOMS));
});

test.each(files.filter((file) => file.startsWith('config/')))(
  '%s imports along the arrows of config',
  (file) => {
    const room = configRoomOf(file);
    const allowed = room === undefined ? [] : [room, ...(CONFIG_ROOMS[room] ?? [])];
    const rooms = local(file).flatMap((imported) => configRoomOf(imported) ?? []);
    expect(rooms.filter((each) => !allowed.includes(each))).toEqual([]);
  },
);

/** The folders of proxies in doctor/proxy-file. */
const PROXIES = ['caddy', 'envoy', 'haproxy', 'kubernetes', 'nginx', 'traefik'];
const proxyOf = (file: string) => /^doctor\/proxy-file\/([^/]+)\//.exec(file)?.[1];

test('readers of proxies know nothing of each other, and only examine.ts knows them', () => {
  const inside = files.filter((file) => proxyOf(file) !== undefined);
  expect([...new Set(inside.map(proxyOf))].sort()).toEqual(PROXIES);
  const arrows = files.flatMap((file) =>
    local(file).flatMap((imported) => {
      const [from, to] = [proxyOf(file), proxyOf(imported)];
      const isText = /finding-texts\.ts$/.test(imported);
      return to === undefined || from === to || isText ? [] : [`${file} -> ${imported}`];
    }),
  );
  const readers = arrows.filter((each) => each.startsWith('doctor/proxy-file/examine.ts -> '));
  expect(arrows).toEqual(readers);
  expect(readers).toHaveLength(PROXIES.length);
});

const MAX_LINES = 220;
/** Files that are still too long. */
const LONG_FILES: readonly string[] = [];

test(`no file is longer than ${MAX_LINES} lines`, () => {
  const linesOf = (file: string) => readFileSync(join(SRC, file), 'utf8').split('\n').length - 1;
  const long = files.filter((file) => linesOf(file) > MAX_LINES && !LONG_FILES.includes(file));
  expect(long).toEqual([]);
});

test('other rooms import proxy-config only through proxy-config.ts', () => {
  const inside = (file: string) => partOf(file) === 'proxy-config';
  const doors = files
    .filter((file) => !inside(file))
    .flatMap(local)
    .filter(inside);
  expect(new Set(doors)).toEqual(new Set(['proxy-config/proxy-config.ts']));
});

test('there is no cycle', () => {
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]) => {
    expect(trail, `${[...trail, file].join(' -> ')}`).not.toContain(file);
    if (done.has(file)) return;
    for (const imported of local(file)) visit(imported, [...trail, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(done.size).toBe(files.length);
});

describe('the core is pure', () => {
  const PURE = new Set(['node:crypto', 'node:net', 'find-my-way', 'ipaddr.js', 'lru-cache']);
  test.each(files.filter((file) => /^(core|dialects)\//.test(file)))('%s', (file) => {
    const foreign = importsOf(file).filter((name) => !files.includes(name));
    expect(foreign.filter((name) => !PURE.has(name))).toEqual([]);
    const source = readFileSync(join(SRC, file), 'utf8');
    expect(source).not.toMatch(
      /Date\.now|new Date|performance\.|setTimeout|setInterval|process\.|Math\.random/,
    );
  });
});

test('only config/settings/environment.ts reads the environment', () => {
  const readers = files.filter((file) =>
    /(?:readEnvironment|commandEnvironment|dropInFor)\(process\.env\)/.test(
      readFileSync(join(SRC, file), 'utf8'),
    ),
  );
  const others = files.filter((file) => /process\.env/.test(readFileSync(join(SRC, file), 'utf8')));
  expect(others).toEqual(readers);
});

test('only cli/support/output.ts and the log print, so that all output is escaped for terminals', () => {
  const printers = files.filter((file) =>
    /\bconsole\.|process\.std(out|err)/.test(readFileSync(join(SRC, file), 'utf8')),
  );
  expect(printers.sort()).toEqual(['cli/support/output.ts', 'telemetry/standard-output.ts']);
});

/** `headgate test --run`: the user of the command writes the pattern. */
const PATTERN_OF_THE_COMMAND_LINE = 'insight/policy-tests/selection.ts';

/** Expressions of proxies' files. They end soon, or run in a context that Node stops after seconds. */
const PATTERNS_OF_PROXIES = 'doctor/proxy-file/expression.ts';

test('no other regular expression is built at run time, so that no foreign input becomes a pattern', () => {
  const makers = files.filter((file) =>
    /\bRegExp\(|\.(match|matchAll|search)\((?![/A-Z])/.test(readFileSync(join(SRC, file), 'utf8')),
  );
  expect(makers).toEqual([PATTERNS_OF_PROXIES, PATTERN_OF_THE_COMMAND_LINE]);
});
