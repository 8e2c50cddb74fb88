/**
 * An access log of an imaginary shop, from a seed: people, users of its app, offices behind one address, crawlers,
 * monitors and attacks.
 * Each request says who sent it, so that tests and benchmarks know the truth.
 */
import type { LogEntry } from '../../src/cli/evidence/formats/log-format.ts';
import { Random } from './random.ts';

export interface SyntheticRequest {
  readonly entry: LogEntry;
  /** `person`, `app`, `office`, `crowd`, `crawler`, `monitor`, or the name of an attack. */
  readonly actor: string;
}

export interface SyntheticLogOptions {
  readonly seed: number;
  /** 00:00 UTC of the first day, in milliseconds since the epoch. */
  readonly startMs: number;
  readonly days: number;
  /** People who visit on a day. */
  readonly people: number;
  /** People who use the app on a day. */
  readonly apps?: number;
  readonly offices: number;
  /** People who share one more address. */
  readonly crowd?: number;
  readonly crawlers: number;
  readonly monitors: number;
  readonly attacks: readonly Attack[];
}

export interface Attack {
  readonly name: string;
  /** From 0. */
  readonly day: number;
  /** Milliseconds since the start of the day. */
  readonly atMs: number;
  readonly forMs: number;
  /** Of all addresses together. */
  readonly requestsPerSecond: number;
  readonly addresses: number;
  /** The first byte of the addresses; from 60 on, so that they are no addresses of others. */
  readonly network: number;
  readonly method: string;
  readonly target: (random: Random) => string;
  readonly status: number;
  /** Requests that are sent at one moment, `requestsPerSecond` on average. */
  readonly burst?: number;
  /** The gaps between requests vary, as those of people do. */
  readonly isIrregular?: boolean;
  readonly userAgent?: (random: Random) => string;
}

export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const BROWSERS = ['Chrome/141.0', 'Firefox/143.0', 'Safari/605.1', 'Edg/141.0', 'Chrome/140.0'];
const SYSTEMS = ['Windows NT 10.0', 'Macintosh', 'X11; Linux x86_64', 'iPhone', 'Android 16'];
const APPS = [
  'okhttp/4.12.0',
  'Shop/214 CFNetwork/1494.0.7 Darwin/23.4.0',
  'Dart/3.4 (dart:io)',
  'Shop/2.1 (com.example.shop; iOS 17.4) Alamofire/5.9.1',
];
const CRAWLERS = ['Googlebot/2.1', 'bingbot/2.0', 'AhrefsBot/7.0', 'YandexBot/3.0'];
const ASSETS = ['/static/app.3f9c1b.js', '/static/site.css', '/static/logo.svg'];

/** In order of time. */
export function* syntheticLog(options: SyntheticLogOptions): Generator<SyntheticRequest> {
  const random = new Random(options.seed);
  for (let day = 0; day < options.days; day++) {
    const requests = requestsOfDay(day, options, random);
    requests.sort((a, b) => a.entry.startMs - b.entry.startMs);
    yield* requests;
  }
}

interface Sender {
  readonly actor: string;
  readonly address: string;
  readonly userAgent: string;
}

class Day {
  readonly requests: SyntheticRequest[] = [];
  readonly #startMs: number;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  /** `atMs` is since the start of the day. Later requests are left out. */
  send(sender: Sender, atMs: number, request: Pick<LogEntry, 'method' | 'target' | 'status'>) {
    if (atMs >= DAY_MS) return;
    const { actor, address, userAgent } = sender;
    this.requests.push({
      actor,
      entry: {
        ...request,
        startMs: Math.floor(this.#startMs + atMs),
        ...{ host: 'shop.example.com', address, forwardedFor: undefined, userAgent, fields: [] },
      },
    });
  }
}

function requestsOfDay(day: number, options: SyntheticLogOptions, random: Random) {
  const sink = new Day(options.startMs + day * DAY_MS);
  const population = 3 * options.people;
  for (let i = 0; i < options.people; i++) {
    const person = random.below(population);
    visit(sink, { actor: 'person', ...household(person, options.seed) }, random);
  }
  const { apps = 0, crowd = 0 } = options;
  for (let i = 0; i < apps; i++) appUser(sink, random.below(3 * apps), random);
  for (let i = 0; i < options.offices; i++) {
    office(sink, { number: i, actor: 'office', people: 8 + 4 * (i % 10) }, random);
  }
  if (crowd > 0) office(sink, { number: options.offices, actor: 'crowd', people: crowd }, random);
  for (let i = 0; i < options.crawlers; i++) crawler(sink, i, random);
  for (let i = 0; i < options.monitors; i++) monitor(sink, i);
  for (const attack of options.attacks) if (attack.day === day) launch(sink, attack, options.seed);
  return sink.requests;
}

/** A person keeps address and browser. */
function household(person: number, seed: number) {
  const own = new Random(seed * 1_000_003 + person);
  return { address: addressIn(20, person), userAgent: browser(own) };
}

function addressIn(network: number, i: number): string {
  return `${network}.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`;
}

function browser(random: Random): string {
  return `Mozilla/5.0 (${random.oneOf(SYSTEMS)}) ${random.oneOf(BROWSERS)}`;
}

/** One or more sessions: pages with their assets, searches, and a login with its typing errors. */
function visit(day: Day, sender: Sender, random: Random): void {
  const sessions = 1 + random.geometric(0.4);
  for (let i = 0; i < sessions; i++) {
    // Evenings are busy, nights are not.
    session(day, sender, HOUR_MS * (7 + 15 * Math.sqrt(random.next())), random);
  }
}

function session(day: Day, sender: Sender, startMs: number, random: Random): void {
  let atMs = startMs;
  if (random.next() < 0.4) atMs = login(day, sender, atMs, random);
  // Heavy tail: most look at a few pages, some at hundreds.
  const pages = Math.min(400, Math.ceil(random.lognormal(1.6, 1)));
  for (let page = 0; page < pages; page++) {
    openPage(day, sender, atMs, random);
    if (random.next() < 0.25) atMs = search(day, sender, atMs, random);
    atMs += 1_000 * random.lognormal(2.3, 1);
  }
}

function openPage(day: Day, sender: Sender, atMs: number, random: Random): void {
  const item = random.below(50_000);
  day.send(sender, atMs, { method: 'GET', target: `/items/${item}`, status: 200 });
  for (const asset of ASSETS) {
    if (random.next() < 0.5) continue;
    day.send(sender, atMs + 300 * random.next(), { method: 'GET', target: asset, status: 200 });
  }
  const api = { method: 'GET', target: `/api/items/${item}/reviews?page=1`, status: 200 };
  day.send(sender, atMs + 400 + 300 * random.next(), api);
}

/** Typing sends a request for every few letters. */
function search(day: Day, sender: Sender, startMs: number, random: Random): number {
  let atMs = startMs + 2_000;
  const letters = 2 + random.geometric(0.3);
  for (let i = 0; i < letters; i++) {
    day.send(sender, atMs, { method: 'GET', target: `/api/search?q=${i}`, status: 200 });
    atMs += 150 + 400 * random.next();
  }
  return atMs;
}

function login(day: Day, sender: Sender, startMs: number, random: Random): number {
  let atMs = startMs;
  const errors = random.next() < 0.15 ? 1 + random.geometric(0.5) : 0;
  for (let i = 0; i <= errors; i++) {
    const status = i < errors ? 401 : 200;
    day.send(sender, atMs, { method: 'POST', target: '/api/login', status });
    atMs += 4_000 + 10_000 * random.next();
  }
  return atMs;
}

/** The app fetches no assets. Half of its users open it when a message comes at 8 o'clock. */
function appUser(day: Day, number: number, random: Random): void {
  const userAgent = APPS[number % APPS.length] ?? '';
  const sender = { actor: 'app', address: addressIn(25, number), userAgent };
  const isCalled = random.next() < 0.5;
  let atMs = HOUR_MS * (isCalled ? 8 : 7 + 15 * Math.sqrt(random.next())) + 30_000 * random.next();
  if (random.next() < 0.3) atMs = login(day, sender, atMs, random);
  const screens = Math.min(120, Math.ceil(random.lognormal(1.6, 0.8)));
  for (let i = 0; i < screens; i++) {
    const target = `/api/items/${random.below(50_000)}/reviews?page=1`;
    day.send(sender, atMs, { method: 'GET', target, status: 200 });
    if (random.next() < 0.2) atMs = search(day, sender, atMs, random);
    atMs += 1_000 * random.lognormal(2, 1);
  }
  // While it is open, it polls with the regularity of a program.
  for (let i = 0; i < 25; i++) {
    atMs += 30_000;
    day.send(sender, atMs, { method: 'GET', target: '/api/messages', status: 200 });
  }
}

interface Office {
  readonly number: number;
  readonly actor: string;
  readonly people: number;
}

/** Many people behind one address, from 8 to 18 o'clock. */
function office(day: Day, { number, actor, people }: Office, random: Random): void {
  const address = addressIn(30, number);
  for (let i = 0; i < people; i++) {
    const own = new Random(number * 1_000 + i);
    const sender = { actor, address, userAgent: browser(own) };
    session(day, sender, HOUR_MS * (8 + 10 * random.next()), random);
  }
}

function crawler(day: Day, number: number, random: Random): void {
  const name = CRAWLERS[number % CRAWLERS.length] ?? '';
  const sender = { actor: 'crawler', address: addressIn(40, number), userAgent: name };
  for (let atMs = 0; atMs < DAY_MS; atMs += 1_000 * random.exponential(15)) {
    const status = random.next() < 0.1 ? 404 : 200;
    day.send(sender, atMs, { method: 'GET', target: `/items/${random.below(60_000)}`, status });
  }
}

function monitor(day: Day, number: number): void {
  const userAgent = 'Mozilla/5.0 (compatible)';
  const sender = { actor: 'monitor', address: addressIn(50, number), userAgent };
  for (let atMs = 0; atMs < DAY_MS; atMs += 30_000) {
    day.send(sender, atMs, { method: 'GET', target: '/health', status: 200 });
  }
}

const STUFFER = 'Mozilla/5.0 (Windows NT 10.0) Chrome/141.0';

/** Has its own random numbers, so that the other requests of a log do not depend on its attacks. */
function launch(day: Day, attack: Attack, seed: number): void {
  const { name, forMs, requestsPerSecond, addresses, network, method, status } = attack;
  const { burst = 1, isIrregular = false, userAgent = () => STUFFER } = attack;
  const random = new Random(seed * 1_009 + network);
  const gapMs = (1_000 * burst) / requestsPerSecond;
  let sent = 0;
  for (let atMs = 0; atMs < forMs; atMs += isIrregular ? random.exponential(gapMs) : gapMs) {
    for (let i = 0; i < burst; i++) {
      const address = addressIn(network, sent++ % addresses);
      const sender = { actor: name, address, userAgent: userAgent(random) };
      // A burst takes two seconds around its moment.
      const spreadMs = burst === 1 ? 0 : 2_000 * random.next();
      day.send(sender, attack.atMs + atMs + spreadMs, {
        method,
        target: attack.target(random),
        status,
      });
    }
  }
}
