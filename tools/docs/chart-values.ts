/** deploy/helm/headgate/VALUES.md, made from the schema and the defaults of the chart. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { code, table } from './markdown.ts';

const CHART = new URL('../../deploy/helm/headgate/', import.meta.url);

interface Schema {
  readonly description?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const HEAD = `# Values of the chart

[\`values.yaml\`](values.yaml) explains the defaults. Unknown keys are refused.
`;

/** Throws if a value has no default or no description. */
export function chartValues(): string {
  const read = (file: string) => readFileSync(new URL(file, CHART), 'utf8');
  const schema = JSON.parse(read('values.schema.json')) as Schema;
  const rows = rowsOf(schema, parse(read('values.yaml')), []);
  return `${HEAD}\n${table(['value', 'is', 'default', 'meaning'], rows)}`;
}

function rowsOf(schema: Schema, fallback: unknown, path: readonly string[]): string[][] {
  // Helm sets it for charts inside of a chart.
  if (path[0] === 'global') return [];
  const name = path.join('.');
  // A map with a description is one value, as in a pod.
  if (schema.properties !== undefined && schema.description === undefined) {
    return Object.entries(schema.properties).flatMap(([key, inner]) =>
      rowsOf(inner, (fallback as Record<string, unknown> | undefined)?.[key], [...path, key]),
    );
  }
  if (schema.description === undefined) throw new Error(`${name} needs a description`);
  if (fallback === undefined) throw new Error(`${name} needs a default in values.yaml`);
  return [[code(name), formOf(schema), code(JSON.stringify(fallback)), schema.description]];
}

function formOf({ enum: words, type = '', minimum, maximum }: Schema): string {
  if (words !== undefined) return words.map(code).join(', ');
  if (type === 'integer') return `${minimum} to ${maximum}`;
  return { string: 'text', boolean: 'true, false', array: 'list', object: 'map' }[type] ?? type;
}
