/** A format of JSON lines, from the keys that it has. */
import { type LogFormat, Misread, type ParseLine, type ParseOptions } from '../log-format.ts';
import { createEntryMaker, type EntryMaker, type Variable } from './entry-maker.ts';
import { isObject, type JsonObject, jsonPath, parseObject } from './json-path.ts';
import { type Cell, fieldName } from './values.ts';

export interface JsonFormat
  extends Omit<LogFormat, 'compile' | 'timeIs' | 'lacksZone' | 'adaptedTo'> {
  /** The paths of each variable; the first that a line has counts. See `entry-maker.ts` for the variables. */
  readonly keys: Readonly<Partial<Record<Variable, readonly string[]>>>;
  /** Paths that every line of a request has, beside a stamp and the request: they tell this format from others. */
  readonly marks: readonly string[];
  readonly stampIs: 'start' | 'end';
  readonly isOther?: (line: JsonObject) => boolean;
  readonly hidden?: string;
}

export function jsonFormat(format: JsonFormat): LogFormat {
  const { keys, marks: _, stampIs, isOther, hidden, ...about } = format;
  const described: LogFormat = {
    ...about,
    lacksZone: false,
    timeIs: keys.request_time === undefined ? stampIs : 'start',
    compile: (options) => reader(format, options).parse,
    adaptedTo: (lines) => ({ ...described, ...measured(format, lines) }),
  };
  return described;
}

interface Reader {
  readonly parse: ParseLine;
  readonly maker: EntryMaker;
  cellsOf(line: string): Cell[] | undefined;
}

function reader(
  { keys, marks, stampIs, isOther, hidden }: JsonFormat,
  options: ParseOptions,
): Reader {
  const meaning = { ...options, timeIs: options.timeIs ?? stampIs, escapes: 'none' } as const;
  const maker = createEntryMaker(new Set(Object.keys(keys)), meaning);
  const marked = marks.map(jsonPath);
  const paths = maker.variables.map((name) => (keys[name] ?? []).map(jsonPath));
  const wanted = options.fields.map((field) => [jsonPath(fieldName(field))]);
  const all = [...paths, ...wanted];
  const cells = new Array<Cell>(all.length).fill(undefined);
  const fill = (object: JsonObject) => {
    for (let i = 0; i < all.length; i++) {
      let cell: Cell;
      for (const path of all[i] ?? []) {
        cell = path(object);
        if (cell !== undefined) break;
      }
      cells[i] = cell === hidden ? undefined : cell;
    }
    return cells;
  };
  const parse: ParseLine = (line) => {
    const object = parseObject(line);
    if (object === undefined) return new Misread('JSON object');
    if (isOther?.(object)) return undefined;
    const missing = marked.findIndex((path) => path(object) === undefined);
    if (missing >= 0) return new Misread(marks[missing] ?? '', 1 + missing);
    const made = maker.make(fill(object));
    return made instanceof Misread ? new Misread(keyOf(made.field, keys), 2 + marks.length) : made;
  };
  const cellsOf = (line: string) => {
    const object = parseObject(line);
    return isObject(object) ? fill(object) : undefined;
  };
  return { parse, maker, cellsOf };
}

function keyOf(variable: string, keys: JsonFormat['keys']): string {
  return keys[variable as Variable]?.[0] ?? variable;
}

function measured(
  format: JsonFormat,
  lines: readonly string[],
): Pick<LogFormat, 'timeIs' | 'precisionMs'> {
  const { maker, cellsOf } = reader(format, { zone: 'UTC', timeIs: undefined, fields: [] });
  const durationAt = maker.variables.indexOf('request_time');
  const read = lines.flatMap((line) => {
    const cells = cellsOf(line);
    if (cells === undefined) return [];
    return [
      {
        stampMs: maker.stampOf(cells),
        hasDuration: durationAt >= 0 && cells[durationAt] !== undefined,
      },
    ];
  });
  const stamped = read.filter(({ stampMs }) => !Number.isNaN(stampMs));
  const isWhole = stamped.length > 0 && stamped.every(({ stampMs }) => stampMs % 1000 === 0);
  return {
    timeIs: stamped.some(({ hasDuration }) => hasDuration) ? 'start' : format.stampIs,
    precisionMs: isWhole ? Math.max(1000, format.precisionMs) : Math.min(1, format.precisionMs),
  };
}
