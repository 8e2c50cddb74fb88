/**
 * The experiment behind the promise that a reload disturbs nobody: files that are replaced under load, every other time
 * by one with a mistake. Every answer carries the numbers of the files that decided it, so that each decision can be held
 * against what could be in force at the time.
 */
import { hash } from 'node:crypto';
import {
  closeSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  headerOf,
  type LoadRequest,
  type Outcome,
  startLoad,
} from '../../../tools/load/open-loop.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { judgeReloads } from './judge.ts';

export interface ReloadOptions {
  readonly redisUrl: string;
  /** Half of them bring a mistake, the other half mend it. */
  readonly reloads: number;
  readonly perSecond: number;
  /** Between two reloads, so that each state decides for a while. */
  readonly pauseMs: number;
  /** Policies and listed keys that nobody asks for. */
  readonly otherPolicies: number;
  readonly otherKeys: number;
  readonly storeTimeoutMs: number;
}

/** What the files say, as far as answers show it. */
export interface State {
  /** Of the policy file. Those of files with mistakes are odd. */
  readonly policies: number;
  readonly keys: number;
  readonly ranges: number;
}

/** A state, and when it may have been taken up: not before its file was there, not after the gateway said so. */
export interface Step {
  readonly state: State;
  readonly writtenMs: number;
  readonly confirmedMs: number;
}

export interface Decided {
  readonly kind: Kind;
  readonly client: string;
  readonly dueMs: number;
  readonly answeredMs: number;
  /** 0: no answer. */
  readonly status: number;
  readonly error: string | undefined;
  /** Of every part of the policy file that had a say; one, when all is well. */
  readonly policies: readonly number[];
  /** Of the file of keys, where the answer shows it. */
  readonly keys: number | undefined;
  readonly remaining: number;
  /** Whether it was Redis that counted. */
  readonly isEnforced: boolean;
}

export interface ReloadRecord {
  readonly steps: readonly Step[];
  readonly decided: readonly Decided[];
}

export interface ReloadRun extends ReloadRecord {
  /** How often the gateway says that it took files up, and that it did not. */
  readonly taken: number;
  readonly refused: number;
  /** The longest wait for an answer, from when a request was due: around reloads, and at other times. */
  readonly longestWaitMs: number;
  readonly longestOtherWaitMs: number;
  /** From the replacement of a file until the gateway says what it made of it. */
  readonly noticedAfterMs: readonly number[];
  readonly unenforced: number;
  /** What is not as it should be; empty when all is well. */
  readonly wrong: readonly string[];
}

/** How files are replaced, in turn. */
const WAYS = ['written over', 'renamed over', 'mounted', 'signalled'] as const;
type Way = (typeof WAYS)[number];
/** Which file is replaced, in turn. */
const FILES = ['policies', 'keys', 'policies', 'policies', 'ranges'] as const;
type FileName = keyof State;

const NOTICED_WITHIN_MS = 30_000;
/** The load generator itself may be late by that. */
const AROUND_MS = 50;

export async function runReloads(options: ReloadOptions): Promise<ReloadRun> {
  await using cleanUp = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'headgate-reloads-'));
  cleanUp.defer(() => rm(folder, { recursive: true }));
  const files = new Files(folder, options);
  const gateway = cleanUp.use(
    await startGatewayProcess({
      HEADGATE_REDIS_URL: options.redisUrl,
      HEADGATE_POLICIES: files.path('policies'),
      HEADGATE_CLOUDFLARE_RANGES: files.path('ranges'),
      HEADGATE_STORE_TIMEOUT_MS: String(options.storeTimeoutMs),
    }),
  );
  const decided: Decided[] = [];
  const load = startLoad({
    url: gateway.url,
    perSecond: options.perSecond,
    request: requestOf,
    onOutcome: (outcome) => decided.push(read(outcome)),
    patienceMs: 20_000,
  });
  cleanUp.defer(() => load.stop());
  await sleep(options.pauseMs);
  const { steps, spans, told } = await replaceAll(files, gateway, options);
  await load.stop();
  const record = { steps, decided };
  const counts = await reloadsCounted(gateway);
  return {
    ...record,
    ...counts,
    ...waitsOf(decided, spans),
    noticedAfterMs: spans.map(({ fromMs, toMs }) => toMs - fromMs),
    unenforced: decided.filter(({ isEnforced }) => !isEnforced).length,
    wrong: [...judgeReloads(record), ...judgeCounted(counts, told, options.reloads)],
  };
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

async function replaceAll(
  files: Files,
  gateway: GatewayProcess,
  { reloads, pauseMs }: Pick<ReloadOptions, 'reloads' | 'pauseMs'>,
) {
  let state: State = FIRST_STATE;
  const steps: Step[] = [{ state, writtenMs: 0, confirmedMs: 0 }];
  const spans: Span[] = [];
  const log = new ReloadLog(gateway);
  for (let pair = 0; pair < reloads / 2; pair++) {
    const file = FILES[pair % FILES.length] as FileName;
    const way = WAYS[pair % WAYS.length] as Way;
    for (const isBroken of [true, false]) {
      const next = { ...state, [file]: state[file] + (isBroken ? 1 : 2) };
      const text = files.text(file, next, isBroken);
      const fromMs = performance.now();
      files.replace(file, way, text);
      if (way === 'signalled') gateway.signal('SIGHUP');
      await log.until(isBroken ? 'refused' : 'loaded');
      const toMs = performance.now();
      spans.push({ fromMs, toMs });
      if (!isBroken) {
        state = next;
        steps.push({ state, writtenMs: fromMs, confirmedMs: toMs });
      }
      await sleep(pauseMs);
    }
  }
  log.readOn();
  return { steps, spans, told: log.told };
}

type Result = 'loaded' | 'refused';

/** What the gateway says about reloads. */
class ReloadLog {
  readonly told: Record<Result, number> = { loaded: 0, refused: 0 };
  readonly #gateway: GatewayProcess;
  #readTo = 0;

  constructor(gateway: GatewayProcess) {
    this.#gateway = gateway;
  }

  /**
   * Resolves once it says so. A signal has files read that the gateway may have noticed by itself, so it may repeat what
   * it said of the last ones; with and without mistakes they take turns, and are not confused.
   */
  async until(result: Result): Promise<void> {
    const before = this.told[result];
    const endMs = performance.now() + NOTICED_WITHIN_MS;
    while (performance.now() < endMs) {
      this.readOn();
      if (this.told[result] > before) return;
      await sleep(5);
    }
    throw new Error(`a file was replaced, and nobody noticed:\n${this.#gateway.output()}`);
  }

  readOn(): void {
    const lines = this.#gateway.output().slice(this.#readTo);
    const end = lines.lastIndexOf('\n') + 1;
    this.#readTo += end;
    for (const [, result] of lines.slice(0, end).matchAll(/"event":"policies_(loaded|refused)"/g))
      this.told[result as Result]++;
  }
}

const FIRST_STATE: State = { policies: 0, keys: 0, ranges: 0 };
const MEMBER_KEY = 'the key of a member';
const CDN = '203.0.113.7';
const BLOCKED = '192.0.2.66';
/** Limits are multiples of this and the number of their file. */
const NUMBERS = 1_000;
export const PLANS = 10;
const DEFAULT_LIMIT = 10_000;
const PLAN_LIMIT = 20_000;
const PAIR_LIMIT = 40_000;
const GLOBAL_LIMIT = 900_000;
export const KEPT_LIMIT = 50;

/** The three files, and the ways to replace them. */
class Files {
  readonly #folder: string;
  readonly #otherPolicies: string;
  readonly #otherKeys: string;
  #replaced = 0;

  constructor(
    folder: string,
    { otherPolicies, otherKeys }: Pick<ReloadOptions, 'otherPolicies' | 'otherKeys'>,
  ) {
    this.#folder = folder;
    this.#otherPolicies = lines(otherPolicies, (i) => {
      return `  - { name: other-${i}, match: { path: /other/${i} }, limits: [${i + 1}/1h] }`;
    });
    this.#otherKeys = lines(
      otherKeys,
      (i) => `- { id: other-${i}, sha256: ${hash('sha256', `other ${i}`)} }`,
    );
    for (const file of ['policies', 'keys', 'ranges'] as const)
      writeFileSync(this.path(file), this.text(file, FIRST_STATE, false));
  }

  path(file: FileName): string {
    return join(this.#folder, `${file}.yaml`);
  }

  text(file: FileName, state: State, isBroken: boolean): string {
    if (file === 'policies') return policyFile(state.policies, isBroken) + this.#otherPolicies;
    if (file === 'keys') return keyFile(state.keys, isBroken) + this.#otherKeys;
    return rangesFile(state.ranges, isBroken);
  }

  replace(file: FileName, way: Way, text: string): void {
    const path = this.path(file);
    if (way === 'written over') writeOver(path, text);
    else if (way === 'mounted') this.#mount(path, text);
    else {
      const next = `${path}.next`;
      writeFileSync(next, text);
      renameSync(next, path);
    }
  }

  /** As the kubelet does it: a folder for each version, and a link that is renamed over the last one. */
  #mount(path: string, text: string): void {
    const data = `..${basename(path)}`;
    const version = `${data}-${this.#replaced++}`;
    mkdirSync(join(this.#folder, version));
    writeFileSync(join(this.#folder, version, basename(path)), text);
    link(version, join(this.#folder, data));
    if (!lstatSync(path).isSymbolicLink()) link(join(data, basename(path)), path);
  }
}

/** Never empty meanwhile, as it would be if it were truncated first: on a busy machine the gateway would read that. */
function writeOver(path: string, text: string): void {
  const file = openSync(path, 'r+');
  writeSync(file, text);
  ftruncateSync(file, Buffer.byteLength(text));
  closeSync(file);
}

/** In place of what is there. */
function link(target: string, path: string): void {
  const next = join(dirname(path), '..next');
  symlinkSync(target, next);
  renameSync(next, path);
}

function lines(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => `${line(i)}\n`).join('');
}

/** `raised` admits one request more in every version that is taken up; `kept` is always the same. */
function policyFile(number: number, isBroken: boolean): string {
  const limit = (base: number) => `${base + number}/1h`;
  const plan = (_: unknown, i: number) => `p${i}: [${limit(PLAN_LIMIT + i * NUMBERS)}]`;
  return `version: 1
identity: { sources: [api_key, cf_connecting_ip, ip], api_key: { keys: keys.yaml } }
block: [${BLOCKED}]
default:
  limits: [${limit(DEFAULT_LIMIT)}]
  plans: { ${Array.from({ length: PLANS }, plan).join(', ')} }
policies:
  - name: pair-${number}
    match: { path: /pair }
    limits: [${limit(PAIR_LIMIT)}, { rate: ${limit(2 * PAIR_LIMIT)}, per: ip }]
  - { name: kept, match: { path: /kept }, limits: [${KEPT_LIMIT}/1h] }
  - { name: raised, match: { path: /raised }, cost: ${NUMBERS}, limits: [${limit(NUMBERS * (1 + number / 2))}] }
  - { name: refused-${number}, match: { path: /refused }, limits: [1/1h] }
  - { name: everything, always: true, limits: [{ rate: ${GLOBAL_LIMIT + number}/1s, per: global }] }
${isBroken ? '  - { name: mistaken, match: { path: /mistaken }, limits: [5/5m] }\n' : ''}`;
}

function keyFile(number: number, isBroken: boolean): string {
  const member = `- { id: member, sha256: ${hash('sha256', MEMBER_KEY)}, plan: p${number % PLANS} }\n`;
  return isBroken ? `${member}- { id: mistaken, sha256: none }\n` : member;
}

/** The CDN is in every other version that is taken up. */
function rangesFile(number: number, isBroken: boolean): string {
  const ranges = isCdnKnown(number) ? [`${CDN}/32`] : ['198.51.100.0/24'];
  if (isBroken) ranges.push('mistaken');
  return `checked: 2026-11-01\nranges: [${ranges.join(', ')}]\n`;
}

export function isCdnKnown(ranges: number): boolean {
  return ranges % 4 !== 0;
}

const KINDS = ['plain', 'member', 'pair', 'kept', 'raised', 'refused', 'cdn', 'ipv6'] as const;
export type Kind = (typeof KINDS)[number];
/** Five at a time, each asking for twice what its limit admits. */
const KEPT_AT_ONCE = 5;
const KEPT_REQUESTS = 2 * KEPT_LIMIT;
const RAISED_CLIENTS = 3;
/** So many that none of them reaches a limit. */
const ADDRESSES = 5_000;

const PATHS: Partial<Record<Kind, string>> = {
  pair: '/envoy/pair',
  kept: '/envoy/kept',
  raised: '/envoy/raised',
  refused: '/envoy/refused',
};

const ADDRESS_OF: Readonly<Record<Kind, (turn: number) => string>> = {
  plain: (turn) => `10.0.${(turn % ADDRESSES) >> 8}.${turn & 255}`,
  ipv6: (turn) => `2001:db8:0:${(turn % ADDRESSES).toString(16)}::1`,
  pair: (turn) => `10.1.${(turn % ADDRESSES) >> 8}.${turn & 255}`,
  member: () => '10.2.0.1',
  kept: (turn) => {
    const block = Math.floor(turn / KEPT_AT_ONCE / KEPT_REQUESTS);
    return `10.3.${block}.${turn % KEPT_AT_ONCE}`;
  },
  raised: (turn) => `10.4.0.${turn % RAISED_CLIENTS}`,
  refused: () => '10.5.0.1',
  cdn: () => CDN,
};

function kindOf(i: number): Kind {
  return KINDS[i % KINDS.length] as Kind;
}

function addressOf(i: number): string {
  return ADDRESS_OF[kindOf(i)](Math.floor(i / KINDS.length));
}

function requestOf(i: number): LoadRequest {
  const kind = kindOf(i);
  const address = addressOf(i);
  return {
    path: PATHS[kind] ?? '/envoy/',
    headers: {
      'x-headgate-peer-ip': address,
      'x-headgate-client-ip': address,
      ...(kind === 'member' && { 'x-api-key': MEMBER_KEY }),
      ...(kind === 'cdn' && { 'cf-connecting-ip': BLOCKED }),
    },
  };
}

function read(outcome: Outcome): Decided {
  const { i, dueMs, tookMs, status, error } = outcome;
  const kind = kindOf(i);
  return {
    kind,
    client: addressOf(i),
    dueMs,
    answeredMs: dueMs + tookMs,
    status,
    error,
    ...numbersIn(outcome, kind),
    remaining: Number(headerOf(outcome, 'x-ratelimit-remaining')),
    isEnforced: headerOf(outcome, 'x-ratelimit-mode') === undefined,
  };
}

const ITEM = /"([^"]+)";q=(\d+)/g;
const UNNUMBERED_LIMITS = [KEPT_LIMIT, 1];

/** From every place where an answer shows what decided it. */
function numbersIn(outcome: Outcome, kind: Kind): Pick<Decided, 'policies' | 'keys'> {
  const items = [...(headerOf(outcome, 'ratelimit-policy') ?? '').matchAll(ITEM)];
  const limits = items.map(([, , quota]) => Number(quota));
  const shown = headerOf(outcome, 'x-ratelimit-limit');
  if (shown !== undefined) limits.push(Number(shown));
  const names = [
    ...items.map(([, label = '']) => label),
    headerOf(outcome, 'ratelimit') ?? '',
    headerOf(outcome, 'x-ratelimit-policy') ?? '',
  ];
  const numbered = limits.filter((limit) => !UNNUMBERED_LIMITS.includes(limit));
  const policies = new Set(numbered.map((limit) => limit % NUMBERS));
  for (const name of names) {
    const [, number] = /-(\d+)/.exec(name) ?? [];
    if (number !== undefined) policies.add(Number(number));
  }
  const planned = limits.find(
    (limit) => limit >= PLAN_LIMIT && limit < PLAN_LIMIT + PLANS * NUMBERS,
  );
  const keys =
    kind === 'member' && planned !== undefined
      ? Math.floor((planned - PLAN_LIMIT) / NUMBERS)
      : undefined;
  return { policies: [...policies], keys };
}

async function reloadsCounted(gateway: GatewayProcess) {
  const { body } = await call(gateway.opsUrl, '/metrics');
  const count = (result: string) =>
    Number(
      new RegExp(`^headgate_policy_reloads_total\\{result="${result}"\\} (\\d+)`, 'm').exec(
        body,
      )?.[1],
    );
  return { taken: count('ok'), refused: count('error') };
}

function waitsOf(decided: readonly Decided[], spans: readonly Span[]) {
  let longestWaitMs = 0;
  let longestOtherWaitMs = 0;
  for (const { dueMs, answeredMs } of decided) {
    const waitMs = answeredMs - dueMs;
    const isAround = spans.some(
      ({ fromMs, toMs }) => dueMs <= toMs + AROUND_MS && answeredMs >= fromMs,
    );
    if (isAround) longestWaitMs = Math.max(longestWaitMs, waitMs);
    else longestOtherWaitMs = Math.max(longestOtherWaitMs, waitMs);
  }
  return { longestWaitMs, longestOtherWaitMs };
}

/** Only a signal may have a file read once more than it was replaced. */
function judgeCounted(
  { taken, refused }: Pick<ReloadRun, 'taken' | 'refused'>,
  told: Readonly<Record<Result, number>>,
  reloads: number,
): string[] {
  const wanted = reloads / 2;
  const most = wanted + Math.ceil(wanted / WAYS.length);
  const isCounted = taken === told.loaded && refused === told.refused;
  const isRight = [taken, refused].every((count) => count >= wanted && count <= most);
  return isCounted && isRight
    ? []
    : [`${wanted} reloads of either result are counted: ${taken} taken, ${refused} refused`];
}
