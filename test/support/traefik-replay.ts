/**
 * A replay of Traefik: reads the files that we ship for it, and does what Traefik 3.7.13 does with a request on its way
 * through them, as its source says. It is not Traefik: what it cannot show is how Traefik parses HTTP and reads its files.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http';
import { posix } from 'node:path';
import { pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';
import type { Behind, RunningProxy } from './proxies.ts';
import { copyFiles } from './traefik-files.ts';

/** Names in lower case, and every value that came under each. */
type Fields = Map<string, string[]>;

interface Passing {
  /** For its body. */
  readonly incoming: IncomingMessage;
  readonly method: string;
  readonly target: string;
  readonly host: string;
  /** Who connected. */
  readonly peer: string;
  readonly fields: Fields;
  readonly appendsPeer: boolean;
}

interface Served {
  readonly status: number;
  /** As they were written. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: IncomingMessage | string;
}

type Handler = (passing: Passing) => Promise<Served>;

/** What of the two files the replay understands: all that ours have. */
interface EntryPoint {
  readonly address: string;
  readonly http?: {
    readonly middlewares?: readonly string[];
    readonly maxHeaderBytes?: number;
    readonly aliasHeadersStrategy?: 'delete';
  };
  readonly forwardedHeaders?: {
    readonly trustedIPs?: readonly string[];
    readonly notAppendXForwardedFor?: boolean;
  };
}

interface Middleware {
  readonly chain?: { readonly middlewares: readonly string[] };
  readonly headers?: {
    readonly customRequestHeaders?: Readonly<Record<string, string>>;
    readonly customResponseHeaders?: Readonly<Record<string, string>>;
  };
  readonly forwardAuth?: {
    readonly address: string;
    readonly trustForwardHeader: boolean;
    readonly authRequestHeaders: readonly string[];
    readonly authResponseHeaders: readonly string[];
    readonly maxResponseBodySize: number;
  };
}

interface Service {
  readonly middlewares?: readonly string[];
  readonly loadBalancer?: {
    readonly servers: readonly { readonly url: string }[];
    readonly serversTransport?: string;
  };
  readonly failover?: {
    readonly service: string;
    readonly fallback: string;
    readonly errors: { readonly status: readonly string[] };
  };
  readonly weighted?: { readonly services: readonly { readonly name: string }[] };
}

interface Transport {
  readonly maxIdleConnsPerHost?: number;
  readonly forwardingTimeouts?: {
    readonly dialTimeout: string;
    readonly responseHeaderTimeout: string;
  };
}

interface Configuration {
  readonly routers: Readonly<
    Record<
      string,
      {
        readonly entryPoints: readonly string[];
        readonly rule: string;
        readonly priority?: number;
        readonly service: string;
      }
    >
  >;
  readonly middlewares: Readonly<Record<string, Middleware>>;
  readonly services: Readonly<Record<string, Service>>;
  readonly serversTransports: Readonly<Record<string, Transport>>;
}

/** A stand-in, not Traefik. Without TLS, WebSockets, and what headgate never answers: redirects, cookies. */
export async function replayTraefik(behind: Behind): Promise<RunningProxy> {
  const files = await copyFiles(behind);
  const { entryPoints } = parse(readFileSync(files.startUp, 'utf8')) as {
    entryPoints: Readonly<Record<string, EntryPoint>>;
  };
  const { http } = parse(readFileSync(files.dynamic, 'utf8')) as { http: Configuration };
  const handlers = new Handlers(http);
  const servers = await Promise.all(
    Object.entries(entryPoints).map(([name, entryPoint]) =>
      listen(entryPoint, (passing) => handlers.of(name, entryPoint, passing)),
    ),
  );
  return {
    url: `http://127.0.0.1:${files.port}`,
    output: () => handlers.errors.join('\n'),
    [Symbol.asyncDispose]: async () => {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      }
      handlers.close();
      files.remove();
    },
  };
}

async function listen(
  entryPoint: EntryPoint,
  handlerOf: (passing: Passing) => Handler,
): Promise<Server> {
  // Go reads so much more than it is told to.
  const maxHeaderSize = (entryPoint.http?.maxHeaderBytes ?? 1_048_576) + 4_096;
  const server = createServer({ maxHeaderSize }, async (incoming, response) => {
    const passing = enter(incoming, entryPoint);
    if (passing === undefined) {
      response.writeHead(400).end();
      return;
    }
    const { status, headers, body } = await handlerOf(passing)(passing);
    response.writeHead(status, headers.flat());
    if (typeof body === 'string') response.end(body);
    // Whoever of the two ends first, the other is told.
    else pipeline(body, response, () => {});
  });
  server.maxHeadersCount = 0;
  const [host, port] = entryPoint.address.split(':');
  server.listen(Number(port), host);
  await once(server, 'listening');
  return server;
}

/** What Traefik itself says of a request, so that nobody else may unless the entry point trusts them. */
const MANAGED = new Set([
  ...['proto', 'for', 'host', 'port', 'server', 'uri', 'method', 'prefix'].map(
    (name) => `x-forwarded-${name}`,
  ),
  'x-forwarded-tls-client-cert',
  'x-forwarded-tls-client-cert-info',
  'x-real-ip',
]);
/** With `_` for `-` as well; a dot is nobody's alias here. */
const isManaged = (name: string) => MANAGED.has(name.replaceAll('_', '-'));

/** At the door: a tidy path, and headers that are Traefik's own. */
function enter(incoming: IncomingMessage, entryPoint: EntryPoint): Passing | undefined {
  const { method = '', url = '', socket } = incoming;
  const absolute = /^https?:\/\/([^/?]*)(.*)$/i.exec(url);
  const target = tidyTarget(absolute === null ? url : absolute[2] || '/');
  if (target === undefined) return undefined;
  const host = absolute?.[1] ?? incoming.headers.host ?? '';
  const peer = socket.remoteAddress ?? '';
  const fields: Fields = new Map();
  const { trustedIPs = [], notAppendXForwardedFor = false } = entryPoint.forwardedHeaders ?? {};
  const isTrusted = trustedIPs.includes(`${peer}/32`);
  const deletesAliases = entryPoint.http?.aliasHeadersStrategy === 'delete';
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    if (name === 'host' || values === undefined) continue;
    if (deletesAliases && /[^a-z0-9-]/.test(name)) continue;
    if (isTrusted || !isManaged(name)) fields.set(name, values);
  }
  setIfEmpty(fields, 'x-real-ip', peer);
  setIfEmpty(fields, 'x-forwarded-proto', 'http');
  setIfEmpty(fields, 'x-forwarded-port', portOf(host));
  if (host !== '') setIfEmpty(fields, 'x-forwarded-host', host);
  const list = fields.get('x-forwarded-for');
  if (list !== undefined) fields.set('x-forwarded-for', [list.join(', ')]);
  fields.set('x-forwarded-server', ['a-replay']);
  dropHopFields(fields);
  return { incoming, method, target, host, peer, fields, appendsPeer: !notAppendXForwardedFor };
}

/** A client may not name what Traefik sets: it could make it disappear. */
function dropHopFields(fields: Fields): void {
  const named = (fields.get('connection') ?? [])
    .flatMap((list) => list.split(','))
    .map((name) => name.trim().toLowerCase());
  const upgrade = named.includes('upgrade') ? fields.get('upgrade') : undefined;
  for (const name of named) if (!isManaged(name)) fields.delete(name);
  fields.delete('connection');
  if (upgrade === undefined) return;
  fields.set('connection', ['Upgrade']);
  fields.set('upgrade', upgrade);
}

function setIfEmpty(fields: Fields, name: string, value: string): void {
  if (!fields.get(name)?.[0]) fields.set(name, [value]);
}

const portOf = (host: string) => /:(\d+)$/.exec(host)?.[1] ?? '80';

/** `%61` becomes `a`, and `/./`, `/../` and `//` disappear; `%2F` and `;` stay. */
function tidyTarget(target: string): string | undefined {
  const question = target.indexOf('?');
  const path = question === -1 ? target : target.slice(0, question);
  // A query that is one no more would be split by nobody alike.
  const query = question === -1 ? '' : target.slice(question).replaceAll(';', '&');
  if (path === '*') return path;
  if (!path.startsWith('/') || path.includes('#') || /%(?![\da-f]{2})/i.test(path))
    return undefined;
  const plain = path.replace(/%[\da-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : escaped.toUpperCase();
  });
  // With one character that no path should have, all of it is escaped anew.
  const isValid = /^[\w.~\-/!$&'()*+,;=:@[\]%]*$/.test(plain);
  return posix.normalize(isValid ? plain : escapeAnew(plain)) + query;
}

function escapeAnew(path: string): string {
  const bytes = path.replace(/%([\dA-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return bytes.replace(
    /[^\w.~\-/$&+,:;=@]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** The way of a request through middlewares to a service, as the files say. */
class Handlers {
  readonly errors: string[] = [];
  readonly #http: Configuration;
  readonly #agents = new Map<string, Agent>();

  constructor(http: Configuration) {
    this.#http = http;
  }

  of(name: string, { http: { middlewares = [] } = {} }: EntryPoint, passing: Passing): Handler {
    // The highest priority first, which is the length of the rule if nothing says otherwise.
    const router = Object.values(this.#http.routers)
      .filter(({ entryPoints, rule }) => entryPoints.includes(name) && matches(rule, passing))
      .sort((a, b) => (b.priority ?? b.rule.length) - (a.priority ?? a.rule.length))[0];
    if (router === undefined) return async () => NOT_FOUND;
    return this.#through(middlewares, this.#service(router.service));
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }

  #through(names: readonly string[], last: Handler): Handler {
    return names.reduceRight((next, name) => this.#middleware(name, next), last);
  }

  #middleware(qualifiedName: string, next: Handler): Handler {
    const name = qualifiedName.replace(/@file$/, '');
    const { chain, headers, forwardAuth } = known(this.#http.middlewares[name], name);
    if (chain !== undefined) return this.#through(chain.middlewares, next);
    if (forwardAuth !== undefined) return (passing) => this.#ask(forwardAuth, passing, next);
    return async (passing) => {
      for (const [field, value] of Object.entries(headers?.customRequestHeaders ?? {})) {
        if (value === '') passing.fields.delete(field.toLowerCase());
        else passing.fields.set(field.toLowerCase(), [value]);
      }
      const served = await next(passing);
      return { ...served, headers: replaced(served.headers, headers?.customResponseHeaders ?? {}) };
    };
  }

  #service(name: string): Handler {
    if (name === 'ping@internal') return async () => ({ status: 200, headers: [], body: 'OK' });
    const service = known(this.#http.services[name], name);
    return this.#through(service.middlewares ?? [], this.#balancer(service));
  }

  #balancer({ loadBalancer, failover, weighted }: Service): Handler {
    if (loadBalancer !== undefined) {
      const name = loadBalancer.serversTransport;
      const transport = name === undefined ? {} : known(this.#http.serversTransports[name], name);
      return (passing) => this.#forward(passing, loadBalancer.servers[0]?.url ?? '', transport);
    }
    if (failover === undefined) return this.#service(weighted?.services[0]?.name ?? '');
    const [service, fallback] = [this.#service(failover.service), this.#service(failover.fallback)];
    return async (passing) => {
      const served = await service(passing);
      if (!failover.errors.status.some((range) => isWithin(served.status, range))) return served;
      const instead = await fallback(passing);
      if (typeof served.body === 'string') return instead;
      // Seen of Traefik 3.7.13: an error that a server answered, not Traefik itself, loses the headers of the fallback.
      served.body.resume();
      return { ...instead, headers: [] };
    };
  }

  /** ForwardAuth. Nothing of the client's request but headers, and of these what is listed. */
  async #ask(
    settings: NonNullable<Middleware['forwardAuth']>,
    passing: Passing,
    next: Handler,
  ): Promise<Served> {
    const sent = request(settings.address, {
      headers: Object.fromEntries(questionFields(settings, passing)),
      // Of Go's own client: two idle connections.
      agent: this.#agentFor(settings.address, 2),
      signal: AbortSignal.timeout(30_000),
    });
    sent.end();
    const answer = await this.#answerOf(sent, settings.address);
    const body = answer && (await text(answer).catch(() => undefined));
    if (answer === undefined || body === undefined) return plain(500);
    if (Buffer.byteLength(body) > settings.maxResponseBodySize) return plain(401);
    const { statusCode: status = 0 } = answer;
    if (status < 200 || status > 299) return { status, headers: endToEnd(answer), body };
    for (const name of settings.authResponseHeaders.map((each) => each.toLowerCase())) {
      const values = answer.headersDistinct[name];
      if (values === undefined) passing.fields.delete(name);
      else passing.fields.set(name, values);
    }
    return next(passing);
  }

  async #forward(passing: Passing, url: string, transport: Transport): Promise<Served> {
    const { incoming, method, target, host, peer, appendsPeer } = passing;
    const fields = new Map(passing.fields);
    for (const name of HOP_FIELDS) fields.delete(name);
    if (appendsPeer) {
      fields.set('x-forwarded-for', [[...(fields.get('x-forwarded-for') ?? []), peer].join(', ')]);
    }
    const { hostname, port, host: ownHost } = new URL(url);
    const sent = request({
      hostname,
      port,
      method,
      path: target,
      headers: { ...Object.fromEntries(fields), host: host || ownHost },
      agent: this.#agentFor(url, transport.maxIdleConnsPerHost ?? 200),
    });
    const { forwardingTimeouts: limits } = transport;
    let isLate = false;
    const giveUp = () => {
      isLate = true;
      sent.destroy(new Error('timeout'));
    };
    // One deadline for both: on loopback connecting takes no time.
    const timer =
      limits &&
      setTimeout(
        giveUp,
        milliseconds(limits.dialTimeout) + milliseconds(limits.responseHeaderTimeout),
      );
    const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers;
    if (length === undefined && coding === undefined) sent.end();
    else incoming.pipe(sent);
    const answer = await this.#answerOf(sent, url);
    clearTimeout(timer);
    if (answer === undefined) return plain(isLate ? 504 : 502);
    return { status: answer.statusCode ?? 0, headers: endToEnd(answer), body: answer };
  }

  #answerOf(
    sent: ReturnType<typeof request>,
    address: string,
  ): Promise<IncomingMessage | undefined> {
    return new Promise((resolve) => {
      sent.on('response', resolve);
      sent.on('error', (error) => {
        this.errors.push(`${address}: ${error.message}`);
        resolve(undefined);
      });
    });
  }

  #agentFor(url: string, maxFreeSockets: number): Agent {
    const agent = this.#agents.get(url) ?? new Agent({ keepAlive: true, maxFreeSockets });
    this.#agents.set(url, agent);
    return agent;
  }
}

const HOP_FIELDS = [
  ...['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-connection', 'proxy-authenticate', 'proxy-authorization'],
];

/** In the order of their names, as Go sends them. */
function questionFields(
  { authRequestHeaders, trustForwardHeader }: NonNullable<Middleware['forwardAuth']>,
  { fields, peer, method, target, host }: Passing,
): Fields {
  const listed = authRequestHeaders.map((name) => name.toLowerCase());
  const asked: Fields = new Map();
  for (const name of trustForwardHeader ? [...listed, ...MANAGED] : listed) {
    const values = fields.get(name);
    const isTakenOver = trustForwardHeader || !isManaged(name);
    if (values !== undefined && isTakenOver && !HOP_FIELDS.slice(0, 6).includes(name)) {
      asked.set(name, values);
    }
  }
  asked.set('x-forwarded-for', [[...(asked.get('x-forwarded-for') ?? []), peer].join(', ')]);
  for (const [name, value] of [
    ['x-forwarded-method', method],
    ['x-forwarded-proto', 'http'],
    ['x-forwarded-port', portOf(host)],
    ['x-forwarded-host', host],
    ['x-forwarded-uri', target],
    ['user-agent', 'Go-http-client/1.1'],
    ['accept-encoding', 'gzip'],
  ] as const) {
    if (!asked.has(name)) asked.set(name, [value]);
  }
  return new Map([...asked].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function endToEnd({ rawHeaders }: IncomingMessage): [string, string][] {
  return rawHeaders.flatMap((name, i): [string, string][] =>
    i % 2 === 0 && !HOP_FIELDS.includes(name.toLowerCase())
      ? [[name, rawHeaders[i + 1] ?? '']]
      : [],
  );
}

function replaced(
  headers: Served['headers'],
  custom: Readonly<Record<string, string>>,
): Served['headers'] {
  const names = new Set(Object.keys(custom).map((name) => name.toLowerCase()));
  return [
    ...headers.filter(([name]) => !names.has(name.toLowerCase())),
    ...Object.entries(custom).filter(([, value]) => value !== ''),
  ];
}

const RULE_PART = /\s*(&&|\|\||[!()]|\w+\((?:`[^`]*`(?:, )?)+\))/y;

/** A rule of Traefik: `&&` before `||`, `!` and parentheses. */
function matches(rule: string, passing: Passing): boolean {
  RULE_PART.lastIndex = 0;
  const parts: string[] = [];
  while (RULE_PART.lastIndex < rule.length) {
    const part = RULE_PART.exec(rule)?.[1];
    if (part === undefined) throw new Error(`the replay does not know the rule ${rule}`);
    parts.push(part);
  }
  const either = (): boolean => {
    let result = both();
    while (parts[0] === '||') {
      parts.shift();
      result = both() || result;
    }
    return result;
  };
  const both = (): boolean => {
    let result = one();
    while (parts[0] === '&&') {
      parts.shift();
      result = one() && result;
    }
    return result;
  };
  const one = (): boolean => {
    const part = parts.shift() ?? '';
    if (part === '!') return !one();
    if (part !== '(') return holds(part, passing);
    const result = either();
    parts.shift();
    return result;
  };
  return either();
}

function holds(matcher: string, { target, fields }: Passing): boolean {
  const path = target.split('?', 1)[0] ?? '';
  const [kind = ''] = matcher.split('(', 1);
  const [wanted = '', pattern = ''] = [...matcher.matchAll(/`([^`]*)`/g)].map(([, text]) => text);
  if (kind === 'Path') return path === wanted;
  if (kind === 'PathPrefix') return path.startsWith(wanted);
  if (kind !== 'HeaderRegexp') throw new Error(`the replay does not know ${matcher}`);
  const expression = new RegExp(
    pattern.replace(/^\(\?i\)/, ''),
    pattern.startsWith('(?i)') ? 'i' : '',
  );
  return (fields.get(wanted.toLowerCase()) ?? []).some((value) => expression.test(value));
}

function known<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new Error(`the files do not have ${name}`);
  return found;
}

function isWithin(status: number, range: string): boolean {
  const [from = '', to = from] = range.split('-');
  return status >= Number(from) && status <= Number(to);
}

function milliseconds(duration: string): number {
  const [, amount, unit] = /^(\d+)(ms|s)$/.exec(duration) ?? [];
  if (amount === undefined) throw new Error(`the replay does not know the duration ${duration}`);
  return Number(amount) * (unit === 's' ? 1_000 : 1);
}

const plain = (status: number): Served => ({ status, headers: [], body: '' });
const NOT_FOUND: Served = { status: 404, headers: [], body: '404 page not found\n' };
