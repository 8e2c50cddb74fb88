/** The standard log of Amazon CloudFront: lines of tabs, whose columns a line before them names. */
import { type LogFormat, Misread, type ParseLine, type ParseOptions } from './log-format.ts';
import { createEntryMaker, type Variable } from './parts/entry-maker.ts';
import { type Cell, fieldName } from './parts/values.ts';

/** The columns of a log without that line. Older logs have only the first of them. */
const STANDARD =
  'date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end';
const FIELDS = '#Fields: ';
const LEAST_COLUMNS = 12;

/** The first column that a line has a value in counts. */
const COLUMNS: Readonly<Partial<Record<Variable, readonly string[]>>> = {
  msec: ['timestamp(ms)'],
  time_iso8601: ['date time'],
  request_time: ['time-taken'],
  request_method: ['cs-method'],
  uri: ['cs-uri-stem'],
  args: ['cs-uri-query'],
  host: ['x-host-header', 'cs(Host)'],
  remote_addr: ['c-ip'],
  http_x_forwarded_for: ['x-forwarded-for'],
  status: ['sc-status'],
  http_user_agent: ['cs(User-Agent)'],
};

export const awsCloudFront: LogFormat = {
  name: 'aws-cloudfront',
  title: 'Amazon CloudFront, standard log',
  timeIs: 'start',
  precisionMs: 1000,
  lacksZone: false,
  address: '`c-ip`: the address that connected to CloudFront',
  samples: [
    '2026-01-05\t10:20:30\tFRA56-P4\t512\t203.0.113.9\tGET\td111111abcdef8.cloudfront.net\t/search\t200\t-\tcurl/8.5.0\tq=1\t-\tMiss\tYUIQm8AJjfYkFpRXgUWXdQ0p4BvWc1pJn3k6w2uJb0w9kX8cVQfT5A==\tshop.example\thttps\t120\t0.045\t-\tTLSv1.3\tTLS_AES_128_GCM_SHA256\tMiss\tHTTP/2.0\t-\t-\t51234\t0.044\tMiss\ttext/html\t512\t-\t-',
  ],
  notes: [
    'Columns are read by their names in the line `#Fields:`, in any order and number; a log without that line must have the standard columns.',
    'The start is the end minus `time-taken`. The end has milliseconds if the log has `timestamp(ms)`, and else whole seconds.',
    'The host is `x-host-header`, which the client asked for; `cs(Host)` is that of the distribution.',
    'The log has what CloudFront answered from its cache: your proxy never saw those requests. Lines are out of order by up to an hour: add `--horizon 1h`.',
    'JSON and Parquet, which standard logging can also write, are not read; nor are real-time logs.',
  ],
  adaptedTo: (lines) => {
    const hasMilliseconds = lines.some((line) => namesIn(line)?.includes('timestamp(ms)'));
    return hasMilliseconds ? { ...awsCloudFront, precisionMs: 1 } : awsCloudFront;
  },
  compile: parserOf,
};

function parserOf(options: ParseOptions): ParseLine {
  const standard = readerOf(STANDARD.split(' '), options);
  const readers = new Map<number, ParseLine>();
  return (line, source = 0) => {
    const names = namesIn(line);
    if (names !== undefined) readers.set(source, readerOf(names, options));
    if (names !== undefined || line.startsWith('#Version: ')) return undefined;
    return (readers.get(source) ?? standard)(line);
  };
}

function namesIn(line: string): readonly string[] | undefined {
  return line.startsWith(FIELDS) ? line.slice(FIELDS.length).trim().split(/\s+/) : undefined;
}

function readerOf(names: readonly string[], options: ParseOptions): ParseLine {
  const isStandard = names.join(' ') === STANDARD;
  const meaning = { ...options, timeIs: options.timeIs ?? 'end', escapes: 'none' } as const;
  const maker = createEntryMaker(new Set(Object.keys(COLUMNS)), meaning);
  const [dateAt, timeAt] = [names.indexOf('date'), names.indexOf('time')];
  const columns = [
    ...maker.variables.map((name) => COLUMNS[name] ?? []),
    ...options.fields.map((field) => [fieldName(field)]),
  ].map((alternatives) => alternatives.map((name) => names.indexOf(name)));
  const stampAt = maker.variables.indexOf('time_iso8601');
  const agentAt = maker.variables.indexOf('http_user_agent');
  return (line) => {
    const values = line.split('\t');
    const fits = isStandard ? values.length >= LEAST_COLUMNS : values.length === names.length;
    if (!fits) return new Misread('columns, which tabs divide', values.length);
    const cells = columns.map((places): Cell => valueAt(values, places));
    const [date, time] = [values[dateAt], values[timeAt]];
    if (date !== undefined && time !== undefined) cells[stampAt] = `${date}T${time}Z`;
    cells[agentAt] = decoded(cells[agentAt]);
    const made = maker.make(cells);
    if (!(made instanceof Misread)) return made;
    return new Misread(COLUMNS[made.field as Variable]?.[0] ?? made.field, values.length);
  };
}

function valueAt(values: readonly string[], places: readonly number[]): Cell {
  const place = places.find((each) => each >= 0 && values[each] !== '-');
  return place === undefined ? undefined : values[place];
}

const ENCODED = /%([2-7][\dA-Fa-f])/g;

/** CloudFront writes a space of a user agent as `%20`, older logs as `%2520`. */
function decoded(cell: Cell): Cell {
  if (typeof cell !== 'string' || !cell.includes('%')) return cell;
  return cell
    .replaceAll('%25', '%')
    .replace(ENCODED, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
