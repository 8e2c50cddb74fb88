/** Sends hostile requests to a server, and judges every answer, its log, and how it treats connections without requests. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostileRequest } from './requests.ts';

/** What must never happen. */
export const FAULTS = [
  'hang',
  'allowed although unparsable',
  'server error',
  'ill-formed answer',
  'not accepted',
] as const;
type Fault = (typeof FAULTS)[number];

export interface Offence {
  readonly fault: Fault;
  readonly request: HostileRequest;
  readonly answer: string;
}

export interface VolleyResult {
  readonly requests: number;
  /** How often each status was the first answer on a connection, or there was no answer. */
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

/** After so many refused connections there is no server. */
const MOST_NOT_ACCEPTED = 100;

/** Sends every request on a new connection, and judges the answer. */
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
        // Without a server, all families fail alike.
        const kind = fault === 'not accepted' ? fault : `${fault}: ${request.name}`;
        if (!offences.has(kind)) offences.set(kind, { fault, request, answer: delivery.text });
      }
    }
  };
  await Promise.all(Array.from({ length: sockets }, work));
  return { requests: count, firstAnswers, faults, offences: [...offences.values()] };
}

/** One line from which the same bytes can be sent again. */
export function offenceLine({ fault, request, answer }: Offence): string {
  const { name, number, bytes } = request;
  const quoted = (text: string) => JSON.stringify(text.slice(0, 400));
  return `${fault}: ${name} (${number}), ${quoted(bytes.toString('latin1'))} -> ${quoted(answer)}`;
}

/**
 * Most connections are half-closed right after the request. On some the client waits for an answer first, so only the
 * server can close a connection that it does not answer. Some are reset at once.
 */
type Manner = 'half-close' | 'wait' | 'tear down';

function mannerOf(number: number): Manner {
  // Neither number divides the number of families, so each family is sent in every manner.
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

/** The statuses of all final answers on a connection. */
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

/** Complete answers and nothing else. Each body is JSON and has the announced length. */
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

/** Node ends the answers that it sends by itself with an empty chunk. */
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

/** What is wrong with the output of a gateway: lines that are no events, and events that are errors. */
export function logFaults(output: string): string[] {
  const faults = logLines(output).filter((line) => !isHarmless(eventOf(line)));
  return hasControls(output) ? [...faults, RAW_CONTROLS] : faults;
}

/** Lines after the banner that are not one event each, and control characters. */
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

/** What a client may send on a connection that occupies the server without a request. */
export const LINGERERS = {
  silent: '',
  'half a header': 'GET /livez HTTP/1.1\r\nHost: ha',
  garbage: '\x16\x03\x01',
  CONNECT: 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
} as const;
export type LingererName = keyof typeof LINGERERS;

const DRIP_MS = 500;

/** How long a server keeps a connection that sends nothing; at most `limitMs`. */
export function silentLifeMs(url: string, limitMs: number): Promise<number> {
  return lifeMs(url, limitMs, () => {});
}

/** The same for a request whose header comes at one byte every half second. */
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
    // Without reading, the end of the connection would not be noticed.
    socket.resume().on('error', (error) => {
      // A write to a connection that was just closed fails.
      if (limit === undefined) reject(error);
    });
    socket.on('close', () => {
      clearTimeout(limit);
      resolve(performance.now() - startedMs);
    });
  });
}

/** More than a reset takes on the same machine. */
const RESET_MS = 150;
/** A gateway that has answered and closed its side lets the client read for half a second. This is for a busy machine. */
const READS_FOR_MS = 2_000;

/**
 * Whether a server closes both sides of such a connection in time, although the client never closes its own. A server that
 * closes only its side keeps the socket for as long as the client likes.
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
  const ended = new Promise((resolve) => socket.on('end', resolve).on('close', resolve));
  const closed = ended.then(() => sleep(READS_FOR_MS));
  await Promise.race([closed, sleep(withinMs, undefined, { ref: false })]);
  // A closed socket answers the first byte with a reset, which the second byte meets. A server that still has the socket
  // may close it at the first byte. The second is then sent before the reset arrives.
  for (let bytes = 0; bytes < 2 && !wasReset; bytes++) {
    socket.write('x');
    await sleep(RESET_MS);
  }
  socket.destroy();
  return wasReset;
}
