/** A format of text lines, from its layouts. */
import { hint } from '../../../../gateway/config/closest-word.ts';
import { ConfigError } from '../../../../gateway/config/diagnostic.ts';
import { type LogEntry, type LogFormat, Misread, type ParseLine } from '../log-format.ts';
import { createEntryMaker, type MakerOptions } from './entry-maker.ts';
import { type Escape, Layout } from './layout.ts';
import { type Cell, fieldName } from './values.ts';

export interface TextFormat
  extends Omit<LogFormat, 'compile' | 'timeIs' | 'lacksZone' | 'adaptedTo'> {
  /** The first that fits a line reads it. See `entry-maker.ts` for the names of the variables. */
  readonly layouts: readonly string[];
  readonly escapes: Escape;
  readonly stampIs: 'start' | 'end';
  readonly lacksZone?: boolean;
  /** Variables that hold several values with `|` between them, and how users name the values: `capture.request.N`. */
  readonly lists?: Readonly<Record<string, string>>;
  readonly fast?: (zone: string) => FastParse;
}

export function textFormat(format: TextFormat): LogFormat {
  const { layouts, escapes, stampIs, lists = {}, fast, ...about } = format;
  return {
    ...about,
    lacksZone: about.lacksZone ?? false,
    timeIs: layouts.every((layout) => /\$\{?request_time\b/.test(layout)) ? 'start' : stampIs,
    compile: (options) => {
      const read = layouts.map((source) => new Layout(source, escapes));
      const known = new Set(read.flatMap(({ names }) => names));
      const fields = options.fields.map((name) => wantedField(name, lists));
      const missing = options.fields.filter((_, i) => !known.has(fields[i]?.variable ?? ''));
      if (missing.length > 0) {
        const names = [...known].map((name) => lists[name] ?? name);
        throw new ConfigError(missing.map((name) => missingField(name, about.name, names)));
      }
      const { isForwardedFirst = false } = about;
      const meaning = { ...options, timeIs: options.timeIs ?? stampIs, escapes, isForwardedFirst };
      const parse = firstOf(read.map((layout) => reader(layout, meaning, fields)));
      const parseFast = fields.length === 0 ? fast?.(options.zone) : undefined;
      return parseFast === undefined ? parse : (line) => parseFast(line) ?? parse(line);
    },
  };
}

/** Gives the same entry as the layouts, or undefined if they shall read the line. */
export type FastParse = (line: string) => LogEntry | undefined;

interface WantedField {
  readonly variable: string;
  readonly item: number | undefined;
}

/** `capture.request.1` is the second item of the variable whose name for users is `capture.request.N`. */
function wantedField(name: string, lists: Readonly<Record<string, string>>): WantedField {
  const [, list, item] = /^(.*\.)(\d+)$/.exec(name) ?? [];
  const found = Object.entries(lists).find(([, shown]) => shown === `${list}N`);
  if (found === undefined) return { variable: fieldName(name), item: undefined };
  return { variable: found[0], item: Number(item) };
}

function reader(layout: Layout, options: MakerOptions, fields: readonly WantedField[]): ParseLine {
  const { names } = layout;
  const maker = createEntryMaker(new Set(names), options);
  const wanted = [...maker.variables.map((variable) => ({ variable, item: undefined })), ...fields];
  const places = wanted.map(({ variable }) => names.indexOf(variable));
  const items = wanted.map(({ item }) => item);
  const cells = new Array<Cell>(places.length).fill(undefined);
  return (line) => {
    const count = layout.read(line);
    if (count < names.length) return new Misread(names[count] ?? 'line', layout.reach(count));
    for (let i = 0; i < places.length; i++) {
      const place = places[i] as number;
      const cell = place < 0 ? undefined : layout.cell(line, place);
      const item = items[i];
      cells[i] = item === undefined ? cell : cell?.split('|')[item];
    }
    const made = maker.make(cells);
    // The layout fits, so this field alone is wrong.
    return made instanceof Misread ? new Misread(made.field, layout.reach(names.length) + 1) : made;
  };
}

/** Tries the parsers one after the other. If none fits, the one that came furthest says why. */
function firstOf(parsers: readonly ParseLine[]): ParseLine {
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

function missingField(name: string, format: string, known: readonly string[]): string {
  const meant = hint(fieldName(name), known);
  return `--map: lines of ${format} have no field "${name}"${meant}; they have: ${known.join(', ')}`;
}
