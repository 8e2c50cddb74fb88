/** A format of text lines, from its layouts. */
import { ConfigError } from '../../../config/config-error.ts';
import { type LogFormat, Misread, type ParseLine, type ParseOptions } from '../log-format.ts';
import type { Cell } from './cell.ts';
import { createEntryMaker } from './entry-maker.ts';
import { fieldName, missingField } from './fields.ts';
import { type Escape, Layout } from './layout.ts';

export interface TextFormat
  extends Omit<LogFormat, 'compile' | 'timeIs' | 'lacksZone' | 'adaptedTo'> {
  /** Alternatives: the first that fits a line reads it. See `entry-maker.ts` for the names of the variables. */
  readonly layouts: readonly string[];
  readonly escapes: Escape;
  readonly stampIs: 'start' | 'end';
  readonly lacksZone?: boolean;
}

export function textFormat({ layouts, escapes, stampIs, ...about }: TextFormat): LogFormat {
  return {
    ...about,
    lacksZone: about.lacksZone ?? false,
    timeIs: layouts.every((layout) => /\$\{?request_time\b/.test(layout)) ? 'start' : stampIs,
    compile: (options) => {
      const known = new Set(layouts.flatMap((source) => new Layout(source, escapes).names));
      const missing = options.fields.filter((field) => !known.has(fieldName(field)));
      if (missing.length > 0)
        throw new ConfigError(missing.map((name) => missingField(name, about.name, [...known])));
      const meaning = { ...options, timeIs: options.timeIs ?? stampIs, escapes };
      return firstOf(layouts.map((source) => reader(new Layout(source, escapes), meaning)));
    },
  };
}

interface Meaning extends ParseOptions {
  readonly timeIs: 'start' | 'end';
  readonly escapes: Escape;
}

/** A parser of one layout. */
function reader(layout: Layout, options: Meaning): ParseLine {
  const { names } = layout;
  const maker = createEntryMaker(new Set(names), options);
  const places = [...maker.variables, ...options.fields.map(fieldName)].map((name) =>
    names.indexOf(name),
  );
  const cells = new Array<Cell>(places.length).fill(undefined);
  return (line) => {
    const count = layout.read(line);
    if (count < names.length) return new Misread(names[count] ?? 'line', layout.reach(count));
    for (let i = 0; i < places.length; i++) {
      const place = places[i] as number;
      cells[i] = place < 0 ? undefined : layout.cell(line, place);
    }
    const made = maker.make(cells);
    return made instanceof Misread ? new Misread(made.field, reachOf(layout, made)) : made;
  };
}

function reachOf(layout: Layout, { field }: Misread): number {
  return layout.reach(layout.names.indexOf(field));
}

/** Tries the parsers one after the other. If none fits, the one that came furthest says why. */
function firstOf(parsers: readonly ParseLine[]): ParseLine {
  const [only] = parsers;
  if (only !== undefined && parsers.length === 1) return only;
  return (line) => {
    let furthest: Misread | undefined;
    for (const parse of parsers) {
      const made = parse(line);
      if (!(made instanceof Misread)) return made;
      if (furthest === undefined || made.reach > furthest.reach) furthest = made;
    }
    return furthest;
  };
}
