/** A format of JSON lines, from the keys that it has. */
import { type LogFormat, Misread, type ParseLine, type ParseOptions } from '../log-format.ts';
import { createEntryMaker, type Variable } from './entry-maker.ts';
import { type JsonObject, jsonPath, parseObject } from './json-path.ts';
import { type Cell, fieldName } from './values.ts';

export interface JsonFormat
  extends Omit<LogFormat, 'compile' | 'timeIs' | 'lacksZone' | 'adaptedTo'> {
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

function reader({ keys, marks, stampIs, isOther, hidden }: JsonFormat, options: ParseOptions) {
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
    if (!(made instanceof Misread)) return made;
    return new Misread(keys[made.field as Variable]?.[0] ?? made.field, 2 + marks.length);
  };
  const cellsOf = (line: string) => {
    const object = parseObject(line);
    return object && fill(object);
  };
  return { parse, maker, cellsOf };
}

function measured(
  format: JsonFormat,
  lines: readonly string[],
): Pick<LogFormat, 'timeIs' | 'precisionMs'> {
  const { maker, cellsOf } = reader(format, { zone: 'UTC', timeIs: undefined, fields: [] });
  const durationAt = maker.variables.indexOf('request_time');
  const stamps: number[] = [];
  let hasDuration = false;
  for (const line of lines) {
    const cells = cellsOf(line);
    const stampMs = cells === undefined ? Number.NaN : maker.stampOf(cells);
    if (Number.isNaN(stampMs)) continue;
    stamps.push(stampMs);
    hasDuration ||= cells?.[durationAt] !== undefined;
  }
  const isWhole = stamps.length > 0 && stamps.every((stampMs) => stampMs % 1000 === 0);
  return {
    timeIs: hasDuration ? 'start' : format.stampIs,
    precisionMs: isWhole ? Math.max(1000, format.precisionMs) : Math.min(1, format.precisionMs),
  };
}
