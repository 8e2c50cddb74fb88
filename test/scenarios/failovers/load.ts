/**
 * Two gateways on one Redis under open-loop load, and a record of every answer.
 *
 * There are three kinds of clients, each with all three values of on_store_failure. Counted clients are never denied, so
 * their remaining requests tell how many admissions Redis has for them. Limited clients send far more than their limit.
 * One client is exempt: its requests do not need Redis, so only the machine delays them.
 */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import calculateSlot from 'cluster-key-slot';
import { listedKeyPartition } from '../../../src/gateway/core/identity/partition.ts';
import { headerOf, type Outcome, startLoad } from '../../../tools/load/open-loop.ts';
import { type GatewayProcess, startGatewayProcess } from '../../support/gateway.ts';
import { until } from '../../support/redis-node.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const MODES = ['allow', 'deny', 'local'] as const;
type FailureMode = (typeof MODES)[number];

export interface Client {
  readonly id: string;
  readonly kind: 'counted' | 'limited' | 'exempt';
  readonly mode: FailureMode;
  readonly apiKey: string;
  /** The slot of all its keys in a cluster. */
  readonly slot: number;
  /** Its keys in Redis. The log of a counted client has one entry per admission. */
  readonly keys: readonly string[];
}

export interface Answer {
  readonly client: Client;
  readonly gateway: number;
  /** By performance.now(). */
  readonly dueMs: number;
  readonly tookMs: number;
  readonly status: number;
  /** If the status is 0. */
  readonly error: string | undefined;
  /** Redis (or a cached denial), or the mode of a decision without Redis. */
  readonly by: 'redis' | 'local' | 'open' | 'closed';
  /** Of a counted client's limit. */
  readonly remaining: number;
}

export interface FailoverLoad extends AsyncDisposable {
  readonly gateways: readonly GatewayProcess[];
  /** In the order of their arrival. */
  readonly answers: readonly Answer[];
  /** Resolves once Redis has admitted one of these clients for every gateway, after that moment. Resolves to the time. */
  admitting(isMeant: (client: Client) => boolean, afterMs: number): Promise<number>;
  /** Resolves when every request is answered. */
  stop(): Promise<void>;
}

export const GATEWAYS = 2;
/** So high that no client is denied. The windows are longer than any run, so no count expires. */
export const COUNTED_LIMIT = 1_000_000;
const COUNTED_WINDOWS_S = [3_600, 7_200];
export const LIMITED_LIMIT = 6;
export const LIMITED_WINDOW_MS = 5_000;
/** A working gateway answers within this time, also on a busy machine. */
const PATIENCE_MS = 20_000;
const EXEMPT_SHARE = 10;

export function isMeasured({ by, status }: Answer): boolean {
  return by === 'redis' && (status === 200 || status === 429);
}

export function isAdmitted({ status }: Answer): boolean {
  return status === 200;
}

export function manyClients(counted: number, limited: number): Client[] {
  const ids = (kind: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${kind}-${i}`);
  return [
    ...ids('counted', counted).map((id, i) => newClient(id, 'counted', modeOf(i))),
    ...ids('limited', limited).map((id, i) => newClient(id, 'limited', modeOf(i))),
  ];
}

/** Counted clients, so many in each slot. */
export function crowdedClients(slots: number, each: number): Client[] {
  const bySlot = new Map<number, Client[]>();
  const full: Client[][] = [];
  for (let i = 0; full.length < slots; i++) {
    const client = newClient(`crowded-${i}`, 'counted', modeOf(i));
    const crowd = [...(bySlot.get(client.slot) ?? []), client];
    bySlot.set(client.slot, crowd);
    if (crowd.length === each) full.push(crowd);
  }
  return full.flat();
}

function modeOf(i: number): FailureMode {
  return MODES[i % MODES.length] as FailureMode;
}

function newClient(id: string, kind: Client['kind'], mode: FailureMode): Client {
  const tag = `hg:v1:{${listedKeyPartition(id)}}`;
  const windowsMs =
    kind === 'limited' ? [LIMITED_WINDOW_MS] : COUNTED_WINDOWS_S.map((seconds) => seconds * 1_000);
  const keys = windowsMs.map((windowMs) => `${tag}:${kind}-${mode}:client.${windowMs}`);
  return { id, kind, mode, apiKey: `the key of ${id}`, slot: calculateSlot(tag), keys };
}

/** Resolves after a second of load: the gateways' code is compiled, and their connections are open. */
export async function startFailoverLoad(
  redisUrl: string,
  clients: readonly Client[],
  { perSecond, deadlineMs }: { readonly perSecond: number; readonly deadlineMs: number },
): Promise<FailoverLoad> {
  await using unlessItStarts = new AsyncDisposableStack();
  const folder = temporaryFolder(unlessItStarts);
  const policies = join(folder, 'policies.yaml');
  const exempt = newClient('exempt', 'exempt', 'allow');
  writeFileSync(policies, policyFile([...clients, exempt], exempt));
  const env = {
    HEADGATE_REDIS_URL: redisUrl,
    HEADGATE_POLICIES: policies,
    HEADGATE_STORE_TIMEOUT_MS: String(deadlineMs),
  };
  const gateways = await Promise.all(
    Array.from({ length: GATEWAYS }, async () =>
      unlessItStarts.use(await startGatewayProcess(env)),
    ),
  );

  const answers: Answer[] = [];
  const clientOf = (i: number) => {
    if (i % EXEMPT_SHARE === 0) return exempt;
    return clients[(i - Math.ceil(i / EXEMPT_SHARE)) % clients.length] as Client;
  };
  const loads = gateways.map(({ url }, gateway) =>
    startLoad({
      url,
      perSecond: perSecond / GATEWAYS,
      patienceMs: PATIENCE_MS,
      request: (i) => requestOf(clientOf(i)),
      onOutcome: (outcome) => answers.push(answerOf(outcome, clientOf(outcome.i), gateway)),
    }),
  );
  const stop = async () => void (await Promise.all(loads.map((load) => load.stop())));
  unlessItStarts.defer(stop);

  async function admitting(isMeant: (client: Client) => boolean, afterMs: number) {
    const firstMs = Array.from({ length: GATEWAYS }, () => Number.NaN);
    let seen = 0;
    await until('every gateway counts in Redis', async () => {
      for (; seen < answers.length; seen++) {
        const answer = answers[seen] as Answer;
        const isOne =
          answer.dueMs >= afterMs &&
          isMeasured(answer) &&
          isAdmitted(answer) &&
          answer.client.kind !== 'exempt' &&
          isMeant(answer.client);
        if (isOne)
          firstMs[answer.gateway] = Math.min(
            firstMs[answer.gateway] || Infinity,
            answer.dueMs + answer.tookMs,
          );
      }
      return !firstMs.some(Number.isNaN);
    });
    return Math.max(...firstMs);
  }

  await admitting(() => true, performance.now() + 1_000);
  const running = unlessItStarts.move();
  return {
    gateways,
    answers,
    admitting,
    stop,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** JSON is YAML. */
function policyFile(clients: readonly Client[], exempt: Client): string {
  const policy = (kind: Client['kind'], limits: readonly string[]) =>
    MODES.map((mode) => ({
      name: `${kind}-${mode}`,
      match: { path: `/${kind}/${mode}` },
      limits,
      on_store_failure: mode,
    }));
  return JSON.stringify({
    version: 1,
    identity: {
      api_key: { keys: clients.map(({ id, apiKey }) => ({ id, sha256: hash('sha256', apiKey) })) },
    },
    exempt: [{ key: exempt.id }],
    default: { limits: ['1/1h'] },
    policies: [
      ...policy(
        'counted',
        COUNTED_WINDOWS_S.map((seconds) => `${COUNTED_LIMIT}/${seconds}s`),
      ),
      ...policy('limited', [`${LIMITED_LIMIT}/${LIMITED_WINDOW_MS / 1_000}s`]),
    ],
  });
}

function requestOf({ kind, mode, apiKey }: Client) {
  return { path: `/envoy/${kind}/${mode}`, headers: { 'x-api-key': apiKey } };
}

function answerOf(outcome: Outcome, client: Client, gateway: number): Answer {
  const { dueMs, tookMs, status, error } = outcome;
  const by = (headerOf(outcome, 'x-ratelimit-mode') ?? 'redis') as Answer['by'];
  const remaining = Number(headerOf(outcome, 'x-ratelimit-remaining') ?? Number.NaN);
  return { client, gateway, dueMs, tookMs, status, error, by, remaining };
}
