/** The names that users of a checkout depend on, read from its generated docs, its JSON Schema and its sources. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Names by kind, each list sorted and without repetitions. */
export type Names = Readonly<Record<string, readonly string[]>>;

/** `root` is the folder of a checkout, of this version or of an older one. */
export function namesOf(root: string): Names {
  const page = (name: string) => readFileSync(join(root, 'docs', name), 'utf8');
  const schema = JSON.parse(readFileSync(join(root, 'config/policies.schema.json'), 'utf8'));
  const names = {
    metrics: metricNames(page('metrics.md')),
    events: eventNames(page('logs.md')),
    rules: firstCells(page('check.md')).filter((name) => /^[a-z][a-z-]*$/.test(name)),
    settings: settingNames(page('configuration.md')),
    'policy file keys and values': schemaNames(schema, schema.$defs ?? {}),
    dialects: dialectNames(page('metrics.md'), page('configuration.md')),
    'commands and flags': commandNames(page('commands.md')),
    'exit codes': firstCells(page('commands.md')).filter((name) => /^\d+$/.test(name)),
    'ops API': opsApiNames(page('ops-api.md')),
    headers: quoted(root, /['"]((?:x-|ratelimit|retry-after)[a-z-]*)['"]/gi),
    'Redis keys and channels': quoted(root, /['"`](hg:v1:[^'"`$\s]*)/g),
    'error codes': quoted(root, /['"](HEADGATE_[A-Z_]+)['"];/g),
  };
  return Object.fromEntries(Object.entries(names).map(([kind, found]) => [kind, sorted(found)]));
}

/** `files[].findings[].rule`: the path of each field that a JSON document has. */
export function fieldsOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return sorted(value.flatMap((each) => fieldsOf(each, `${path}[]`)));
  if (typeof value !== 'object' || value === null) return [path];
  const at = (key: string) => (path === '' ? key : `${path}.${key}`);
  return sorted(Object.entries(value).flatMap(([key, each]) => fieldsOf(each, at(key))));
}

export function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}

function cellsOf(page: string): string[][] {
  const rows = page.split('\n').filter((line) => line.startsWith('| '));
  return rows.map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()));
}

function backticked(text = ''): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

function firstCells(page: string): string[] {
  return cellsOf(page).flatMap(([, first = '']) => /^`([^`]+)`$/.exec(first)?.[1] ?? []);
}

/** Each section by its heading, with all that stands under it up to the next heading. */
function sectionsOf(page: string): [heading: string, text: string][] {
  const parts = page.split(/^#{2,} (.*)$/m).slice(1);
  return parts.flatMap((heading, i) => (i % 2 === 0 ? [[heading, parts[i + 1] ?? '']] : []));
}

/** `name` and `name{label}`. */
function metricNames(page: string): string[] {
  return cellsOf(page).flatMap(([, name = '', type = '', labels]) => {
    if (!/^(counter|gauge|histogram|summary)$/.test(type)) return [];
    return backticked(name).flatMap((metric) => [
      metric,
      ...backticked(labels).map((label) => `${metric}{${label}}`),
    ]);
  });
}

/** `event` and `event.field`. */
function eventNames(page: string): string[] {
  const events = cellsOf(page).flatMap(([, name, level = '']) =>
    /^(trace|debug|info|warn|error|fatal)$/.test(level) ? backticked(name) : [],
  );
  const fields = sectionsOf(page).flatMap(([heading, text]) =>
    backticked(heading).flatMap((event) => firstCells(text).map((field) => `${event}.${field}`)),
  );
  return [...events, ...fields];
}

function settingNames(page: string): string[] {
  return cellsOf(page)
    .flatMap(([, first]) => backticked(first))
    .filter((name) => /^[A-Z][A-Z_]+$/.test(name));
}

/** Names of proxies, and the paths where they ask. */
function dialectNames(metrics: string, configuration: string): string[] {
  const row = cellsOf(metrics).find(([, first]) => first === '`dialect`');
  const host = cellsOf(configuration).find(([, first]) => first === '`HEADGATE_HOST`');
  const mounts = backticked(host?.join(' ')).filter((name) => name.startsWith('/'));
  return [...backticked(row?.[2]), ...mounts.map((mount) => mount.replace(/\/?(<.*)?$/, ''))];
}

/** `headgate check`, `headgate check --output`, `headgate check --output=json`. */
function commandNames(page: string): string[] {
  return sectionsOf(page).flatMap(([command, text]) => {
    if (!command.startsWith('headgate ')) return [];
    const terms = cellsOf(text).flatMap(([, term = '', is]) => {
      const names = (backticked(term)[0] ?? '')
        .split(/,? /)
        .filter((name) => !name.startsWith('<'));
      const choices = backticked(/: ((?:`[^`]+`(?:, )?)+)$/.exec(is ?? '')?.[1]);
      // What an argument is called is for the help alone; what it may be is not.
      return names.flatMap((name) => [
        ...(name.startsWith('-') ? [name] : []),
        ...choices.map((choice) => `${name}=${choice}`),
      ]);
    });
    return [command, ...terms.map((term) => `${command} ${term}`)];
  });
}

/** Routes, what they take and answer, and the words of errors: `POST /v1/explain takes url`. */
function opsApiNames(page: string): string[] {
  const routes = sectionsOf(page).flatMap(([route, text]) => {
    if (!/^[A-Z]+ \//.test(route)) return [];
    const takes = firstCells(text).map((field) => `${route} takes ${field}`);
    const answers = text.split('\n').filter((line) => line.startsWith('Answers '));
    const fields = backticked(answers.join(' ')).map((field) => field.replace(/\?$/, ''));
    return [route, ...takes, ...fields.map((field) => `${route} answers ${field}`)];
  });
  const errors = cellsOf(page).flatMap(([, status = '', word]) =>
    /^\d{3}$/.test(status) ? backticked(word).map((each) => `error ${status} ${each}`) : [],
  );
  return [...routes, ...errors];
}

interface Schema {
  readonly $ref?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** `policies[].mode`, `policies[].mode=shadow`, `default.plans.*[]`. */
function schemaNames(schema: Schema, defs: Readonly<Record<string, Schema>>, path = ''): string[] {
  const { $ref, properties = {}, additionalProperties, items, anyOf = [], oneOf = [] } = schema;
  const inside = (next: Schema | undefined, at: string) =>
    next === undefined ? [] : schemaNames(next, defs, at);
  const values = schema.const === undefined ? (schema.enum ?? []) : [schema.const];
  return [
    ...(path === '' ? [] : [path]),
    ...values.map((value) => `${path}=${value}`),
    ...inside($ref === undefined ? undefined : defs[$ref.split('/').at(-1) ?? ''], path),
    ...Object.entries(properties).flatMap(([key, each]) =>
      inside(each, path === '' ? key : `${path}.${key}`),
    ),
    ...(typeof additionalProperties === 'object' ? inside(additionalProperties, `${path}.*`) : []),
    ...inside(items, `${path}[]`),
    ...[...anyOf, ...oneOf].flatMap((each) => inside(each, path)),
  ];
}

const COMMENT_OR_EXAMPLE = /^\s*(\/\*\*|\*|\/\/).*$|examples: \[.*?\]/gm;

/** What stands in quotes in the sources, in lower case where case does not matter. */
function quoted(root: string, pattern: RegExp): string[] {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(root, 'src', name), 'utf8').replaceAll(COMMENT_OR_EXAMPLE, ''))
    .flatMap((source) => [...source.matchAll(pattern)])
    .map(([, name = '']) => (pattern.ignoreCase ? name.toLowerCase() : name));
}
