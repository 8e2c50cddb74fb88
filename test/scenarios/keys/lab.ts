/** Gateways on one Redis that keeps the keys, customers with their keys, and what their requests show. */
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { headerOf, type Outcome, percentile, startLoad } from '../../../tools/load/open-loop.ts';
import type { Row } from '../../../tools/table.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';
import { temporaryFile } from '../../support/temporary.ts';

/** What a part of the scenario found. */
export interface Found {
  readonly rows: readonly Row[];
  /** Expectations that were not met, however busy the machine is. */
  readonly wrong: readonly string[];
  /** Expectations of time that were not met. */
  readonly late: readonly string[];
}

/** No test reaches these limits, but those of the path /tight. */
const LIMITS = { unlisted: 100_000, free: 300_000, pro: 500_000 } as const;
export const TIGHT = { unlisted: 5, free: 12, pro: 20 } as const;
export type Plan = 'free' | 'pro';

const limitsOf = ({ unlisted, free, pro }: Readonly<Record<keyof typeof LIMITS, number>>) =>
  `limits: [${unlisted}/1h], plans: { free: [${free}/1h], pro: [${pro}/1h] }, on_store_failure: local`;
function policiesWith(keys: string): string {
  return `
version: 1
identity:
  sources: [api_key, ip]
  trusted_proxies: [loopback]
  api_key: { keys: ${keys}, unverified_factor: 1 }
default: { ${limitsOf(LIMITS)} }
policies: [{ name: tight, match: { path: /tight }, ${limitsOf(TIGHT)} }]
`;
}

/** In place of those in Redis, for comparison. */
export function keysOfFile(ids: readonly string[], plan: Plan): string {
  return JSON.stringify(ids.map((id) => ({ id, sha256: sha256Of(id), plan })));
}

export async function startGateways(
  lab: AsyncDisposableStack,
  count: number,
  { keys = 'redis', ...env }: NodeJS.ProcessEnv & { readonly keys?: string },
): Promise<GatewayProcess[]> {
  const policies = temporaryFile(lab, policiesWith(keys));
  const start = () => startGatewayProcess({ HEADGATE_POLICIES: policies, ...env });
  const all = await Promise.all(Array.from({ length: count }, async () => lab.use(await start())));
  for (const each of all) {
    await until('a gateway counts in Redis', async () => {
      const { body } = await call(each.opsUrl, '/readyz');
      return !body.includes('"degraded"');
    });
  }
  return all;
}

const GIVE_UP_MS = 60_000;

export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + GIVE_UP_MS; performance.now() < endMs; await sleep(5)) {
    if (await isSo()) return;
  }
  throw new Error(`still not so after ${GIVE_UP_MS} ms: ${what}`);
}

export function connect(lab: AsyncDisposableStack, url: string): Redis {
  const client = lab.adopt(new Redis(url), (open) => open.disconnect());
  // The scenario stops the server.
  return client.on('error', () => {});
}

const sha256Of = (id: string) => hash('sha256', keyOf(id), 'hex');
export const recordKeyOf = (id: string) => `hg:v1:key:${hash('sha256', keyOf(id), 'base64url')}`;

/** The key of a customer. Nobody else sends it. */
function keyOf(id: string): string {
  return `the-key-of-${id}`;
}

/** A call of the ops API: throws if it is refused. */
export async function change(
  gateway: GatewayProcess,
  verb: 'import' | 'change' | 'revoke',
  input: object,
): Promise<void> {
  const { status, body } = await call(gateway.opsUrl, `/v1/keys/${verb}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(input),
  });
  if (status !== 200) throw new Error(`${verb} ${JSON.stringify(input)}: ${status} ${body}`);
}

const IMPORTED_AT_ONCE = 500;

export async function addKeys(gateway: GatewayProcess, ids: readonly string[], plan: Plan) {
  for (let i = 0; i < ids.length; i += IMPORTED_AT_ONCE) {
    const keys = ids
      .slice(i, i + IMPORTED_AT_ONCE)
      .map((id) => ({ id, sha256: sha256Of(id), plan }));
    await change(gateway, 'import', { keys });
  }
}

export const names = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

export interface Ask {
  readonly id: string;
  readonly address: string;
  readonly path?: string;
}

export function requestOf({ id, address, path = '/' }: Ask) {
  const headers = { 'x-api-key': keyOf(id), 'x-headgate-client-ip': address };
  return { path: `/envoy${path}`, headers };
}

/** An address of the networks for benchmarks (RFC 2544). */
export function addressOf(i: number): string {
  return `198.18.${(i >> 8) & 255}.${i & 255}`;
}

export type Seen = 'unlisted' | Plan | 'blocked' | 'refused' | 'uncounted' | 'no answer';

/** Whom the gateway took the client for, by the answer. */
function seenIn(outcome: Pick<Outcome, 'status' | 'head'>): Seen {
  const { status } = outcome;
  if (status === 0) return 'no answer';
  if (status === 403) return 'blocked';
  const limit = Number(headerOf(outcome as Outcome, 'x-ratelimit-limit'));
  for (const plan of ['unlisted', 'free', 'pro'] as const) {
    // Without Redis, each of two gateways counts against its half.
    for (const all of [LIMITS[plan], TIGHT[plan]]) {
      if (limit === all || limit === Math.floor(all / 2)) return plan;
    }
  }
  return status === 200 ? 'uncounted' : 'refused';
}

export interface Answer {
  readonly ask: Ask;
  readonly seen: Seen;
  readonly status: number;
  readonly mode: string | undefined;
  readonly dueMs: number;
  readonly tookMs: number;
}

/** Sends these in turn, again and again, until it is stopped. */
export function keepAsking(
  { url }: Pick<GatewayProcess, 'url'>,
  perSecond: number,
  askOf: (i: number) => Ask,
) {
  const answers: Answer[] = [];
  const load = startLoad({
    url,
    perSecond,
    patienceMs: 30_000,
    request: (i) => requestOf(askOf(i)),
    onOutcome: (outcome) => {
      const { i, status, dueMs, tookMs } = outcome;
      const mode = headerOf(outcome, 'x-ratelimit-mode');
      answers.push({ ask: askOf(i), seen: seenIn(outcome), status, mode, dueMs, tookMs });
    },
  });
  return {
    answers,
    async stop() {
      await load.stop();
      return answers;
    },
  };
}

/** Sends each once, almost at the same time. */
export async function askAll(
  gateway: Pick<GatewayProcess, 'url'>,
  asks: readonly Ask[],
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  let sent = 0;
  const load = startLoad({
    url: gateway.url,
    perSecond: 20_000,
    patienceMs: 30_000,
    request: (i) => requestOf(asks[i % asks.length] as Ask),
    onOutcome: (outcome) => {
      const { i, status, dueMs, tookMs } = outcome;
      sent++;
      // The load goes on until it is stopped; what comes after the last one is the same again.
      if (i >= asks.length) return;
      const mode = headerOf(outcome, 'x-ratelimit-mode');
      answers.push({ ask: asks[i] as Ask, seen: seenIn(outcome), status, mode, dueMs, tookMs });
    },
  });
  while (load.count < asks.length) await sleep(1);
  await load.stop();
  if (sent < asks.length) throw new Error(`${sent} of ${asks.length} requests were answered`);
  return answers;
}

export async function askOnce(gateway: Pick<GatewayProcess, 'url'>, ask: Ask): Promise<Seen> {
  const { path, headers } = requestOf(ask);
  const { status, headers: answered } = await call(gateway.url, path, { headers });
  const limit = answered['x-ratelimit-limit'];
  const head = limit === undefined ? '' : `\r\nx-ratelimit-limit: ${limit}\r\n`;
  return seenIn({ status, head });
}

/** Asks until the answer is as wanted. Resolves to how long that took since `sinceMs`, in milliseconds. */
export async function msUntil(
  gateway: Pick<GatewayProcess, 'url'>,
  ask: () => Ask,
  wanted: Seen,
  sinceMs = performance.now(),
): Promise<number> {
  await until(`${ask().id} is ${wanted}`, async () => (await askOnce(gateway, ask())) === wanted);
  return performance.now() - sinceMs;
}

export function count<T>(values: readonly T[], isOne: (value: T) => boolean): number {
  return values.reduce((sum, each) => sum + Number(isOne(each)), 0);
}

export const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

export function waitsOf(answers: readonly Answer[]) {
  const waits = answers.map(({ tookMs }) => tookMs);
  return { p50: percentile(waits, 0.5), p99: percentile(waits, 0.99), max: Math.max(...waits) };
}

export function unmet(must: Readonly<Record<string, boolean>>): string[] {
  return Object.keys(must).filter((rule) => !must[rule]);
}
