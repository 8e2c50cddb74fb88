/**
 * Makes entries of the variables that a format has. Every format names its fields by these words: the variables of
 * NGINX, and a few more for what NGINX does not log.
 */
import { isHost } from '../../../../gateway/core/matching/host.ts';
import { type LogEntry, Misread, type ParseOptions } from '../log-format.ts';
import type { Escape } from './layout.ts';
import { requestOf, targetOf, withoutDefaultPort } from './request.ts';
import { stampReaders } from './stamps.ts';
import {
  addressBeforePort,
  addressOf,
  type Cell,
  durationMs,
  lastOf,
  textOf,
  unescaped,
} from './values.ts';

/** The first that a line has tells the time. `time_any` is any of the others. */
const STAMPS = ['msec', 'time_iso8601', 'time_local', 'time_any'] as const;

const PARTS = [
  'request_time',
  'request',
  'request_method',
  'request_uri',
  'uri',
  'args',
  'host',
  'http_host',
  /** With a port, which is logged even if the client did not send it. */
  'host_port',
  'remote_addr',
  /** With a port after its last colon. */
  'remote_addr_port',
  'realip_remote_addr',
  'http_x_forwarded_for',
  /** X-Forwarded-For, and after it the address that connected to the proxy. */
  'proxy_add_x_forwarded_for',
  'status',
  'http_user_agent',
] as const;

export type Variable = (typeof STAMPS)[number] | (typeof PARTS)[number];

export interface MakerOptions extends ParseOptions {
  readonly timeIs: 'start' | 'end';
  readonly escapes: Escape;
  readonly isForwardedFirst?: boolean;
}

/** Makes entries of cells. Their places are those of `variables`; the wanted fields come after them. */
export function createEntryMaker(
  available: ReadonlySet<string>,
  { zone, timeIs, fields, escapes, isForwardedFirst = false }: MakerOptions,
) {
  const variables = [...STAMPS, ...PARTS].filter((name) => available.has(name));
  // Behind the last cell: reading the cell -1 takes ten times as long.
  const absent = variables.length + fields.length;
  const at = (name: Variable) => (available.has(name) ? variables.indexOf(name) : absent);
  const stamps = stampsOf(variables, zone);
  const stampOf = stampReader(stamps);
  const timeField = stamps.length === 1 ? (stamps[0]?.name ?? '') : 'time';
  const durationAt = timeIs === 'end' ? at('request_time') : absent;
  const statusAt = at('status');
  const agentAt = at('http_user_agent');
  const requestOfCells = requestReader(at, { available, escapes });
  const addressesOf = addressReader(at, isForwardedFirst);
  const [hostAt, httpHostAt, hostPortAt] = [at('host'), at('http_host'), at('host_port')];
  const firstField = variables.length;
  const plainText = (cells: Cells, place: number) => {
    const text = textOf(cells[place]);
    return text === undefined ? undefined : unescaped(text, escapes);
  };

  const make = (cells: Cells): LogEntry | Misread | undefined => {
    const stampMs = stampOf(cells);
    if (Number.isNaN(stampMs)) return new Misread(timeField);
    const status = statusOf(cells[statusAt]);
    if (Number.isNaN(status)) return new Misread('status');
    const request = requestOfCells(cells);
    if (request === undefined || request instanceof Misread) return request;
    const took = durationMs(cells[durationAt]);
    if (took > LONGEST_MS) return new Misread('request_time');
    const { address, forwardedFor } = addressesOf(cells);
    const hostPort = cells[hostPortAt];
    if (hostPort !== undefined && !isHostPort(hostPort)) return new Misread('host_port');
    return {
      startMs: stampMs - (took > 0 ? took : 0),
      method: request.method,
      target: request.target,
      host:
        textOf(cells[hostAt]) ??
        textOf(cells[httpHostAt]) ??
        withoutDefaultPort(textOf(hostPort)) ??
        request.host,
      address,
      forwardedFor,
      status,
      userAgent: plainText(cells, agentAt),
      fields: fields.length === 0 ? NONE : fields.map((_, i) => plainText(cells, firstField + i)),
    };
  };
  return { variables, make, stampOf };
}

/** A connection may last days, but no request lasts 30. */
const LONGEST_MS = 30 * 24 * 3_600_000;
const NONE: readonly undefined[] = [];

type PlaceOf = (name: Variable) => number;
type Cells = readonly Cell[];

function stampsOf(variables: readonly string[], zone: string) {
  const readers = stampReaders(zone);
  return variables.flatMap((name, place) => {
    const read = readers[name];
    return read === undefined ? [] : [{ name, place, read }];
  });
}

function stampReader(stamps: ReturnType<typeof stampsOf>): (cells: Cells) => number {
  return (cells) => {
    for (const { place, read } of stamps) {
      if (cells[place] !== undefined) return read(cells[place]);
    }
    return Number.NaN;
  };
}

/** `-1` and `0` stand for a connection that ended without an answer. NaN if the cell is no status. */
function statusOf(cell: Cell): number | undefined {
  if (cell === undefined || cell === '-' || cell === '') return undefined;
  const status = Number(cell);
  if (status >= 100 && status <= 999 && Number.isInteger(status)) return status;
  return status === 0 || status === -1 ? undefined : Number.NaN;
}

function requestReader(
  at: PlaceOf,
  { available, escapes }: { available: ReadonlySet<string>; escapes: Escape },
) {
  const hasLineOnly = available.has('request') && !available.has('request_method');
  const [line, method, target] = [at('request'), at('request_method'), at('request_uri')];
  const [path, query] = [at('uri'), at('args')];
  return (cells: Cells) => {
    const methodCell = cells[method];
    const targetCell = cells[target] ?? withQuery(cells[path], cells[query]);
    if (typeof methodCell === 'string' && typeof targetCell === 'string') {
      return targetOf(unescaped(methodCell, escapes), unescaped(targetCell, escapes));
    }
    const lineCell = cells[line];
    if (typeof lineCell === 'string') return requestOf(unescaped(lineCell, escapes));
    if (hasLineOnly) return new Misread('request');
    return new Misread(methodCell === undefined ? 'request_method' : 'request_uri');
  };
}

function withQuery(path: Cell, query: Cell): Cell {
  const text = textOf(query);
  return typeof path !== 'string' || text === undefined
    ? path
    : `${path}?${text.replace(/^\?/, '')}`;
}

function addressReader(at: PlaceOf, isForwardedFirst: boolean) {
  const [peer, withPort] = [at('remote_addr'), at('remote_addr_port')];
  const real = at('realip_remote_addr');
  const [received, extended] = [at('http_x_forwarded_for'), at('proxy_add_x_forwarded_for')];
  return (cells: Cells) => {
    const peerText = textOf(cells[peer]);
    const first = isForwardedFirst ? textOf(cells[received]) : listOf(peerText);
    if (first !== undefined) {
      const { last, before } = lastOf(first);
      return { address: addressOf(last), forwardedFor: before };
    }
    const address =
      addressOf(peerText) ??
      addressBeforePort(textOf(cells[withPort])) ??
      addressOf(textOf(cells[real]));
    const extendedList = textOf(cells[extended]);
    const list = extendedList ?? textOf(cells[received]);
    if (list === undefined) return { address, forwardedFor: undefined };
    if (address !== undefined && extendedList === undefined) return { address, forwardedFor: list };
    const { last, before } = lastOf(list);
    const lastAddress = addressOf(last);
    // The proxy may have found the client further left, and logged that.
    if (address !== undefined && lastAddress !== address) return { address, forwardedFor: list };
    return { address: lastAddress, forwardedFor: before };
  };
}

/** `-` and `unknown` stand in X-Forwarded-For, but not where a log has the host before the address. */
function isHostPort(cell: Cell): boolean {
  return typeof cell === 'string' && cell !== '-' && cell !== 'unknown' && isHost(cell);
}

/** Some logs have X-Forwarded-For in place of the address. */
function listOf(address: string | undefined): string | undefined {
  return address?.includes(',') ? address : undefined;
}
