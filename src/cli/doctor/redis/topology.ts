import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import {
  type RedisAddress,
  type RedisTarget,
  redisPlace,
} from '../../../gateway/config/settings/redis-url.ts';
import { withDeadline } from '../../../gateway/stores/redis/failures.ts';
import { contact, REPLY_TIMEOUT_MS, serverTarget } from './contact.ts';
import { fault, fine, on, warning } from './diagnostics.ts';
import { refusalText } from './refusals.ts';
import { unusable } from './server-findings.ts';

const SLOTS = 16_384;

export interface CountingServer {
  readonly address: RedisAddress;
  readonly holds: (slot: number) => boolean;
}

/** Finds the server in the URL, the master that sentinels report, or the masters of a cluster. */
export async function* countingServers(
  target: RedisTarget,
): AsyncGenerator<Diagnostic, readonly CountingServer[]> {
  if (target.kind === 'sentinel') return yield* masterOfSentinels(target);
  if (target.kind === 'cluster') return yield* mastersOfCluster(target);
  return [{ address: target.addresses[0], holds: () => true }];
}

interface Queried<T> {
  readonly address: RedisAddress;
  readonly reply?: T;
  readonly failure?: string;
}

function queryAll<T>(
  addresses: readonly RedisAddress[],
  query: (address: RedisAddress) => Promise<T>,
): Promise<Queried<T>[]> {
  return Promise.all(
    addresses.map((address) =>
      query(address).then(
        (reply) => ({ address, reply }),
        (error: unknown) => ({ address, failure: refusalText(error) }),
      ),
    ),
  );
}

/** Warnings if at least one address answers, otherwise faults. */
function* failures(queried: readonly Queried<unknown>[]): Generator<Diagnostic> {
  const diagnostic = queried.some(({ failure }) => failure === undefined) ? warning : fault;
  for (const { address, failure } of queried)
    if (failure !== undefined) yield on(address, diagnostic(failure));
}

async function* masterOfSentinels(
  target: RedisTarget,
): AsyncGenerator<Diagnostic, readonly CountingServer[]> {
  const { addresses, masterName } = target;
  const queried = await queryAll(addresses, (address) => masterKnownTo(target, address));
  yield* failures(queried);
  const replies = queried.filter(({ failure }) => failure === undefined);
  const [first] = replies;
  if (first === undefined) return [];
  const masters = new Map(
    replies.flatMap(({ reply }) => (reply ? [[redisPlace(reply), reply] as const] : [])),
  );
  const [master, ...others] = masters.values();
  if (master === undefined) {
    const text = `no sentinel monitors a master named ${masterName}: correct the name in the URL`;
    yield on(first.address, fault(text));
    return [];
  }
  const text = `${replies.length} of ${addresses.length} sentinels answer, the master is ${[...masters.keys()].join(' or ')}`;
  const disagreement = `${text}: they disagree, perhaps because of a failover; repeat the check`;
  yield on(first.address, others.length === 0 ? fine(text) : warning(disagreement));
  return [...masters.values()].map((address) => ({ address, holds: () => true }));
}

async function masterKnownTo(
  target: RedisTarget,
  address: RedisAddress,
): Promise<RedisAddress | undefined> {
  const { client, ready } = await contact({
    ...serverTarget(target, address),
    username: target.sentinelUsername,
    password: target.sentinelPassword,
    database: 0,
  });
  try {
    await ready();
    const reply = await withDeadline(
      client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', target.masterName),
      REPLY_TIMEOUT_MS,
    );
    if (!Array.isArray(reply)) return undefined;
    const [host, port] = reply;
    return { host: String(host), port: Number(port) };
  } finally {
    client.disconnect();
  }
}

async function* mastersOfCluster(
  target: RedisTarget,
): AsyncGenerator<Diagnostic, readonly CountingServer[]> {
  const queried = await queryAll(target.addresses, (address) => shardsKnownTo(target, address));
  yield* failures(queried);
  const known = queried.find(({ reply }) => reply !== undefined);
  if (known?.reply === undefined) return [];
  if (typeof known.reply === 'string') {
    yield on(known.address, fault(known.reply));
    return [];
  }
  const shards = known.reply;
  const covered = shards.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  if (covered < SLOTS) {
    const text = `only ${covered} of ${SLOTS} slots have a master: see CLUSTER NODES, and redis-cli --cluster fix`;
    yield on(known.address, fault(text));
  }
  const masters = new Map(shards.map(({ master }) => [redisPlace(master), master]));
  return [...masters].map(([place, address]) => {
    const own = shards.filter(({ master }) => redisPlace(master) === place);
    return {
      address,
      holds: (slot) => own.some(({ first, last }) => first <= slot && slot <= last),
    };
  });
}

/** Resolves to a text if the server is not a cluster node. */
async function shardsKnownTo(
  target: RedisTarget,
  address: RedisAddress,
): Promise<ReturnType<typeof shardsOf> | string> {
  const { client, info, ready } = await contact(serverTarget(target, address));
  try {
    const obstacle = info && unusable(info, 'cluster');
    // A replica also knows the slots of all nodes.
    if (obstacle !== undefined && info?.text('role') !== 'slave') return obstacle.message;
    await ready();
    const reply = await withDeadline(client.call('CLUSTER', 'SLOTS'), REPLY_TIMEOUT_MS);
    return shardsOf(reply, address);
  } finally {
    client.disconnect();
  }
}

/** Each row has the first slot, the last slot, then the master and each replica as host, port and more. */
function shardsOf(reply: unknown, address: RedisAddress) {
  const rows = Array.isArray(reply) ? reply : [];
  return rows.map(([first, last, [host, port]]) => ({
    first: Number(first),
    last: Number(last),
    // An empty host means the address of the queried node.
    master: { host: String(host || address.host), port: Number(port) },
  }));
}
