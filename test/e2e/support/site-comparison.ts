/** Compares a site behind a proxy with the same site that asks headgate: each answer, and what the application receives. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { SiteRequest } from './site-requests.ts';
import type { Received, VariedApplication } from './varied-application.ts';

export interface ComparedSite {
  readonly url: string;
  readonly application: VariedApplication;
}

interface SiteAnswer {
  /** Statuses, with those of interim answers: `100 200`. */
  readonly status: string;
  /** `name: value` in lower-case names, sorted. */
  readonly headers: readonly string[];
  readonly body: string;
}

export interface SiteVisit {
  readonly answer: SiteAnswer;
  readonly received: readonly string[];
}

export interface SiteDifference {
  readonly request: string;
  readonly without: SiteVisit;
  readonly with: SiteVisit;
}

interface Differences {
  /** Names in lower case of headers that differ for a known reason. */
  readonly ignored?: readonly string[];
}

/** `plain` has no headgate. Sends each request to both sites. */
export async function compareSites(
  plain: ComparedSite,
  guarded: ComparedSite,
  requests: readonly SiteRequest[],
  { ignored = [] }: Differences = {},
): Promise<SiteDifference[]> {
  const differences: SiteDifference[] = [];
  for (const request of requests) {
    const [without, visit] = await Promise.all([
      visitSite(plain, request, ignored),
      visitSite(guarded, request, ignored),
    ]);
    if (JSON.stringify(without) !== JSON.stringify(visit))
      differences.push({ request: request.name, without, with: visit });
  }
  return differences;
}

/** The answer and what the application received, without what differs each time and without headgate's own headers. */
export async function visitSite(
  { url, application }: ComparedSite,
  request: SiteRequest,
  ignored: readonly string[] = [],
): Promise<SiteVisit> {
  application.received.length = 0;
  const text = await send(url, request);
  const hidden = (value: string) =>
    value
      .replace(alone(new URL(url).port), 'PORT')
      .replace(alone(String(application.port)), 'APPLICATION');
  const isKept = (name: string) => !IGNORED.test(name) && !ignored.includes(name);
  return {
    answer: answerIn(hidden(text), isKept),
    received: application.received.map((each) => hidden(receivedText(each, isKept))),
  };
}

/** The digits of a port, but not where they are part of a hash. */
function alone(port: string): RegExp {
  return new RegExp(`(?<![0-9a-z])${port}(?![0-9a-z])`, 'g');
}

/** Differ each time, or are headgate's own. */
const IGNORED = /^(date|age|x-request-id|x-envoy-upstream-service-time|(x-)?ratelimit(-.*)?)$/;

function answerIn(text: string, isKept: (name: string) => boolean): SiteAnswer {
  const statuses: string[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    const [line = '', ...headers] = rest.slice(0, end === -1 ? rest.length : end).split('\r\n');
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(line)?.[1] ?? `no HTTP answer: ${line}`;
    // Both the proxy and the application may send a 100, or the proxy joins them.
    if (status !== '100' || statuses.at(-1) !== '100') statuses.push(status);
    rest = end === -1 ? '' : rest.slice(end + 4);
    if (/^1(?!01)/.test(status) && rest !== '') continue;
    const kept = headers
      .map((each) => each.replace(/^[^:]*/, (name) => name.toLowerCase()))
      .filter((each) => isKept(each.slice(0, each.indexOf(':'))));
    const isChunked = kept.includes('transfer-encoding: chunked');
    const body = isChunked ? joinedChunks(rest) : rest;
    return { status: statuses.join(' '), headers: kept.sort(), body };
  }
}

/** Proxies cut the same body into other chunks each time. */
function joinedChunks(text: string): string {
  let body = '';
  for (let rest = text; ; ) {
    const end = rest.indexOf('\r\n');
    const size = Number.parseInt(rest.slice(0, end), 16);
    if (end === -1 || Number.isNaN(size)) return `${body}, and the body has no end`;
    if (size === 0) return body;
    body += rest.slice(end + 2, end + 2 + size);
    rest = rest.slice(end + 2 + size + 2);
  }
}

function receivedText(received: Received, isKept: (name: string) => boolean): string {
  const { method, target, headers, bytes, sha256 } = received;
  const lines = headers
    .filter(([name]) => isKept(name))
    .map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${target}`, ...lines.sort(), `${bytes} bytes ${sha256}`].join('\n');
}

const PATIENCE_MS = 30_000;

/** Resolves to everything that the server wrote. */
async function send(url: string, { head, body, waits }: SiteRequest): Promise<string> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  // A reset by the server is an answer too.
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.setTimeout(PATIENCE_MS, () => socket.destroy());
  socket.write(head.replace('HOST', host), 'latin1');
  const goesOn = waits === undefined || (await firstAnswer(socket, closed, () => text, waits));
  if (body !== undefined && goesOn) socket.write(body);
  await closed;
  return text;
}

/** Whether the body shall follow. */
async function firstAnswer(
  socket: Socket,
  closed: Promise<unknown>,
  text: () => string,
  waits: 'continue' | 'upgrade',
): Promise<boolean> {
  const wanted = waits === 'continue' ? ' 100' : ' 101';
  while (!text().includes('\r\n\r\n') && !socket.destroyed)
    await Promise.race([once(socket, 'data').catch(() => {}), closed]);
  const isWanted = text().slice(8, 12) === wanted;
  // Without a tunnel, the server may keep the connection.
  if (!isWanted && waits === 'upgrade') socket.end();
  return isWanted;
}
