/** How the files of src may depend on each other, and what only one of them may do. */
import { describe, expect, test } from 'vitest';
import { DOORS } from './doors.ts';
import {
  arrows,
  BETWEEN_COMMANDS,
  files,
  importsOf,
  isCommand,
  isRoom,
  localImports,
  placeOf,
  ROOMS,
  sourceOf,
} from './rooms.ts';

test('gateway imports nothing of cli', () => {
  const crossing = files
    .filter((file) => file.startsWith('gateway/'))
    .flatMap((file) => localImports(file).map((imported) => `${file} -> ${imported}`))
    .filter((arrow) => !/ -> gateway\//.test(arrow));
  expect(crossing).toEqual([]);
});

test('rooms import along the arrows, and every arrow is used', () => {
  const ofRooms = arrows().filter((arrow) => isRoom(arrow.split(' -> ')[0] ?? ''));
  const allowed = Object.entries(ROOMS).flatMap(([room, others]) =>
    others.map((other) => `${room} -> ${other}`),
  );
  expect(ofRooms).toEqual(allowed.sort());
});

test('the house has at most 21 rooms and 60 arrows', () => {
  // With main.ts.
  expect(Object.keys(ROOMS).length + 1).toBeLessThanOrEqual(21);
  expect(Object.values(ROOMS).flat().length).toBeLessThanOrEqual(60);
});

test('a command imports only the listed other commands', () => {
  const between = arrows()
    .filter((arrow) => arrow.split(' -> ').every(isCommand))
    .map((arrow) => arrow.replaceAll('cli/', ''));
  expect(between).toEqual(BETWEEN_COMMANDS);
});

test.each(Object.entries(DOORS))(
  'others import %s by its doors, and by each of them',
  (room, doors) => {
    const imported = files
      .filter((file) => placeOf(file) !== room)
      .flatMap(localImports)
      .filter((file) => placeOf(file) === room)
      .map((file) => file.slice(room.length + 1));
    expect([...new Set(imported)].sort()).toEqual(doors);
  },
);

test('every folder of src is a room or a command', () => {
  const commands = files.map(placeOf).filter(isCommand);
  const named = [...sourceOf('cli/program.ts').matchAll(/import\('\.\/([\w-]+)\//g)].map(
    ([, name = '']) => `cli/${name}`,
  );
  expect([...new Set(commands)]).toEqual([...new Set(named)].sort());
});

/** The folders of proxies in cli/proxy-files/read. */
const PROXIES = ['caddy', 'envoy', 'haproxy', 'kubernetes', 'nginx', 'traefik'];
const proxyOf = (file: string) => /^cli\/proxy-files\/read\/([^/]+)\//.exec(file)?.[1];

test('readers of proxies know nothing of each other, and only examine-files.ts knows them', () => {
  const inside = files.filter((file) => proxyOf(file) !== undefined);
  expect([...new Set(inside.map(proxyOf))].sort()).toEqual(PROXIES);
  const arrows = files.flatMap((file) =>
    localImports(file).flatMap((imported) => {
      const [from, to] = [proxyOf(file), proxyOf(imported)];
      const isText = /finding-texts\.ts$/.test(imported);
      return to === undefined || from === to || isText ? [] : [`${file} -> ${imported}`];
    }),
  );
  const readers = arrows.filter((each) =>
    each.startsWith('cli/proxy-files/read/examine-files.ts -> '),
  );
  expect(arrows).toEqual(readers);
  expect(readers).toHaveLength(PROXIES.length);
});

const MAX_LINES = 220;
/** Files that are still too long. */
const LONG_FILES: readonly string[] = [];

test(`no file is longer than ${MAX_LINES} lines`, () => {
  const linesOf = (file: string) => sourceOf(file).split('\n').length - 1;
  const long = files.filter((file) => linesOf(file) > MAX_LINES && !LONG_FILES.includes(file));
  expect(long).toEqual([]);
});

test('there is no cycle', () => {
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]) => {
    expect(trail, `${[...trail, file].join(' -> ')}`).not.toContain(file);
    if (done.has(file)) return;
    for (const imported of localImports(file)) visit(imported, [...trail, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(done.size).toBe(files.length);
});

describe('the core is pure', () => {
  const PURE = new Set(['node:crypto', 'node:net', 'find-my-way', 'ipaddr.js', 'lru-cache']);
  test.each(files.filter((file) => /^gateway\/(core|dialects)\//.test(file)))('%s', (file) => {
    const foreign = importsOf(file).filter((name) => !files.includes(name));
    expect(foreign.filter((name) => !PURE.has(name))).toEqual([]);
    const source = sourceOf(file);
    expect(source).not.toMatch(
      /Date\.now|new Date|performance\.|setTimeout|setInterval|process\.|Math\.random/,
    );
  });
});

test('only gateway/config/settings/environment.ts reads the environment', () => {
  const readers = files.filter((file) =>
    /(?:readEnvironment|commandEnvironment|dropInFor)\(process\.env\)/.test(sourceOf(file)),
  );
  const others = files.filter((file) => /process\.env/.test(sourceOf(file)));
  expect(others).toEqual(readers);
});

test('only cli/output/output.ts and the log print, so that all output is escaped for terminals', () => {
  const printers = files.filter((file) => /\bconsole\.|process\.std(out|err)/.test(sourceOf(file)));
  expect(printers.sort()).toEqual(['cli/output/output.ts', 'gateway/telemetry/log/log.ts']);
});

/** `headgate test --run`: the user of the command writes the pattern. */
const PATTERN_OF_THE_COMMAND_LINE = 'cli/test/test-command.ts';

/** Expressions of proxies' files. They end soon, or run in a context that Node stops after seconds. */
const PATTERNS_OF_PROXIES = 'cli/proxy-files/read/expression.ts';

test('no other regular expression is built at run time, so that no foreign input becomes a pattern', () => {
  const makers = files.filter((file) =>
    /\bRegExp\(|\.(match|matchAll|search)\((?![/A-Z])/.test(sourceOf(file)),
  );
  expect(makers).toEqual([PATTERNS_OF_PROXIES, PATTERN_OF_THE_COMMAND_LINE]);
});
