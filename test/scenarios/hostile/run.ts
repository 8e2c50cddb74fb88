/** Sends hostile requests to a server and judges every answer, its log, and how it treats those who never ask. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostileRequest } from './requests.ts';

/** What must never be. */
export const FAULTS = [
  'hang',
  'allowed although unparsable',
  'server error',
  'ill-formed answer',
  'not accepted',
] as const;
export type Fault = (typeof FAULTS)[number];

export interface Offence {
  readonly fault: Fault;
  readonly request: HostileRequest;
  readonly answer: string;
}

export interface VolleyResult {
  readonly requests: number;
  /** How often each status came first, or nothing did. */
  readonly firstAnswers: ReadonlyMap<string, number>;
  readonly faults: Readonly<Record<Fault, number>>;
  /** The first of each family and fault. */
  readonly offences: readonly Offence[];
}

export interface VolleyOptions {
  readonly sockets?: number;
  /** How long a connection may live after its last byte. */
  readonly patienceMs?: number;
}

/** A server that is gone is not worth the rest. */
const MOST_NOT_ACCEPTED = 100;

/** Sends every request on a connection of its own, and judges what comes back. */
export async function volley(
  url: string,
  requests: Iterable<HostileRequest>,
  { sockets = 200, patienceMs = 5_000 }: VolleyOptions = {},
): Promise<VolleyResult> {
  const firstAnswers = new Map<string, number>();
  const faults = Object.fromEntries(FAULTS.map((each) => [each, 0])) as Record<Fault, number>;
  const offences = new Map<string, Offence>();
  let count = 0;
  const left = requests[Symbol.iterator]();
  const work = async () => {
    while (faults['not accepted'] < MOST_NOT_ACCEPTED) {
      const { value: request, done } = left.next();
      if (done === true) return;
      const delivery = await deliver(url, request, patienceMs);
      count++;
      const first = firstAnswer(delivery);
      firstAnswers.set(first, (firstAnswers.get(first) ?? 0) + 1);
      for (const fault of faultsOf(request, delivery)) {
        faults[fault]++;
        // With nobody there, one family is as good as another.
        const kind = fault === 'not accepted' ? fault : `${fault}: ${request.name}`;
        if (!offences.has(kind)) offences.set(kind, { fault, request, answer: delivery.text });
      }
    }
  };
  await Promise.all(Array.from({ length: sockets }, work));
  return { requests: count, firstAnswers, faults, offences: [...offences.values()] };
}

/** One line, with which the same bytes can be sent again. */
export function offenceLine({ fault, request, answer }: Offence): string {
  const { name, number, bytes } = request;
  const quoted = (text: string) => JSON.stringify(text.slice(0, 400));
  return `${fault}: ${name} (${number}), ${quoted(bytes.toString('latin1'))} -> ${quoted(answer)}`;
}

/**
 * Most connections are half-closed right after the request. On some the client waits for an answer first, so that
 * only the server can end what it does not answer, and some are torn down at once.
 */
type Manner = 'half-close' | 'wait' | 'tear down';

function mannerOf(number: number): Manner {
  // Neither divides the number of families, so each of them is sent in every manner.
  if (number % 11 === 0) return 'wait';
  return number % 23 === 0 ? 'tear down' : 'half-close';
}

interface Delivery {
  readonly manner: Manner;
  readonly text: string;
  readonly accepted: boolean;
  readonly closedInTime: boolean;
}

function deliver(
  url: string,
  { number, bytes }: HostileRequest,
  patienceMs: number,
): Promise<Delivery> {
  const { hostname, port } = new URL(url);
  const manner = mannerOf(number);
  return new Promise((resolve) => {
    let text = '';
    let accepted = false;
    let closedInTime = true;
    const socket = connect(Number(port), hostname).setEncoding('latin1');
    const patience = setTimeout(() => {
      closedInTime = false;
      socket.destroy();
    }, patienceMs);
    const wasSent = () => void patience.refresh();
    socket.on('connect', () => {
      accepted = true;
      if (manner === 'half-close') socket.end(bytes, wasSent);
      else socket.write(bytes, manner === 'wait' ? wasSent : () => socket.resetAndDestroy());
    });
    socket.on('data', (chunk: unknown) => {
      text += String(chunk);
      if (manner === 'wait' && socket.writable && hasFinalAnswer(text)) socket.end(wasSent);
    });
    // A reset by the server is an answer too.
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(patience);
      resolve({ manner, text, accepted, closedInTime });
    });
  });
}

function hasFinalAnswer(text: string): boolean {
  return /^HTTP\/1\.1 [2-5]/m.test(text);
}

function firstAnswer({ manner, text }: Delivery): string {
  const status = statusesOf(text)[0];
  if (status !== undefined) return String(status);
  return manner === 'tear down' ? 'torn down by us' : 'closed without answer';
}

/** Of all final answers on a connection. */
function statusesOf(text: string): number[] {
  return [...text.matchAll(/^HTTP\/1\.1 ([2-9]\d\d) /gm)].map(([, status]) => Number(status));
}

function faultsOf(request: HostileRequest, delivery: Delivery): Fault[] {
  const faults: Fault[] = [];
  const { text } = delivery;
  const statuses = statusesOf(text);
  if (!delivery.accepted) faults.push('not accepted');
  if (!delivery.closedInTime) faults.push('hang');
  if (request.unparsable && statuses[0] === 200) faults.push('allowed although unparsable');
  if (statuses.some((status) => status >= 500)) faults.push('server error');
  const mayAskForHead = request.bytes.includes('HEAD ');
  if (delivery.manner !== 'tear down' && !areWellFormed(text, mayAskForHead))
    faults.push('ill-formed answer');
  return faults;
}

const HEAD_OF_ANSWER = /^HTTP\/1\.1 ([1-5]\d\d) [A-Za-z -]+\r\n((?:[A-Za-z-]+: [ -~]*\r\n)*)\r\n/;

/** Complete answers one after the other and nothing else, each body as long as announced, and JSON. */
function areWellFormed(text: string, mayAskForHead: boolean): boolean {
  let rest = text;
  while (rest !== '') {
    const [head, status = '', fields = ''] = HEAD_OF_ANSWER.exec(rest) ?? [];
    if (head === undefined) return false;
    rest = rest.slice(head.length);
    if (status.startsWith('1')) continue;
    const length = bodyLength(fields, rest);
    if (length === undefined) return false;
    const isAnswerToHead = mayAskForHead && !rest.startsWith('{');
    if (isAnswerToHead) continue;
    const body = rest.slice(0, length);
    if (body.length < length || !isBody(body)) return false;
    rest = rest.slice(length);
  }
  return true;
}

/** Node ends what it answers by itself with a chunk of nothing. */
const NO_CHUNKS = '0\r\n\r\n';

function bodyLength(fields: string, rest: string): number | undefined {
  const lengths = [...fields.matchAll(/^Content-Length: (\d+)\r$/gim)];
  const isChunked = /^Transfer-Encoding: chunked\r$/im.test(fields);
  if (isChunked)
    return lengths.length === 0 && rest.startsWith(NO_CHUNKS) ? NO_CHUNKS.length : undefined;
  return lengths.length === 1 ? Number(lengths[0]?.[1]) : undefined;
}

function isBody(text: string): boolean {
  return text === '' || text === NO_CHUNKS || isJson(text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What is wrong with the output of a gateway: what is no log, and events that are faults. */
export function logFaults(output: string): string[] {
  const faults = logLines(output).filter((line) => !isHarmless(eventOf(line)));
  return hasControls(output) ? [...faults, RAW_CONTROLS] : faults;
}

/** What is no log: lines after the banner that are not one event each, and characters that a terminal would obey. */
export function strayLines(output: string): string[] {
  const stray = logLines(output).filter((line) => eventOf(line) === undefined);
  return hasControls(output) ? [...stray, RAW_CONTROLS] : stray;
}

export interface LogEvent {
  readonly event: string;
  readonly level: number;
  readonly mistakes?: readonly string[];
}

/** The events after the banner. */
export function logEvents(output: string): LogEvent[] {
  return logLines(output).flatMap((line) => eventOf(line) ?? []);
}

const RAW_CONTROLS = 'raw control characters';

function logLines(output: string): string[] {
  const [, log = ''] = /^ {2}try .*\n([\s\S]*)$/m.exec(output) ?? [];
  return log.split('\n').filter((line) => line !== '');
}

function eventOf(line: string): LogEvent | undefined {
  if (!line.startsWith('{') || !isJson(line)) return undefined;
  const event = JSON.parse(line) as LogEvent;
  return typeof event.event === 'string' && typeof event.level === 'number' ? event : undefined;
}

/** pino's number for `error`. */
const ERROR_LEVEL = 50;

function isHarmless(event: LogEvent | undefined): boolean {
  return event !== undefined && event.level < ERROR_LEVEL;
}

function hasControls(text: string): boolean {
  return [...text].some(isControl);
}

function isControl(character: string): boolean {
  const code = character.charCodeAt(0);
  return (code < 0x20 && character !== '\n') || (code >= 0x7f && code < 0xa0);
}

/** What can be said on a connection that takes up room and never asks. */
export const LINGERERS = {
  silent: '',
  'half a header': 'GET /livez HTTP/1.1\r\nHost: ha',
  garbage: '\x16\x03\x01',
  CONNECT: 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
} as const;
export type LingererName = keyof typeof LINGERERS;

const DRIP_MS = 500;

/** How long a server leaves a connection open on which nothing comes, or at most `limitMs`. */
export function silentLifeMs(url: string, limitMs: number): Promise<number> {
  return lifeMs(url, limitMs, () => {});
}

/** The same for a request whose header comes one byte every half second. */
export function slowLifeMs(url: string, limitMs: number): Promise<number> {
  return lifeMs(url, limitMs, (socket) => {
    let dripped = 0;
    socket.write('GET /livez HTTP/1.1\r\n');
    const timer = setInterval(() => socket.write('Host: slow.example'.charAt(dripped++)), DRIP_MS);
    socket.on('close', () => clearInterval(timer));
  });
}

function lifeMs(url: string, limitMs: number, use: (socket: Socket) => void): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const startedMs = performance.now();
    let limit: NodeJS.Timeout | undefined;
    const socket = connect(Number(port), hostname, () => {
      limit = setTimeout(() => socket.destroy(), limitMs);
      use(socket);
    });
    // Its last words are read, or its end would not be seen.
    socket.resume().on('error', (error) => {
      // What is written to a connection that was just closed fails, and that is all.
      if (limit === undefined) reject(error);
    });
    socket.on('close', () => {
      clearTimeout(limit);
      resolve(performance.now() - startedMs);
    });
  });
}

/** How long a reset takes on the same machine, with room to spare. */
const RESET_MS = 150;

/**
 * Whether a server is rid of such a connection in time, although the client never closes its own side. One that only
 * closed its side as well keeps the socket, for as long as the client likes.
 */
export async function isLetGoOf(
  url: string,
  name: LingererName,
  withinMs: number,
): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  await once(socket, 'connect');
  let wasReset = false;
  socket.resume().on('error', () => {
    wasReset = true;
  });
  if (LINGERERS[name] !== '') socket.write(Buffer.from(LINGERERS[name], 'latin1'));
  await sleep(withinMs);
  // A socket that is gone answers a byte with a reset, which the next one meets. A server that still has it may let go
  // at the first byte; the second then leaves before its reset arrives.
  for (let bytes = 0; bytes < 2 && !wasReset; bytes++) {
    socket.write('x');
    await sleep(RESET_MS);
  }
  socket.destroy();
  return wasReset;
}
