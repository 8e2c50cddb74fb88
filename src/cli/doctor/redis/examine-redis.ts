/** Examines whether gateways can count in a Redis, and how well. */
import { type RedisTarget, redisPlace } from '../../../gateway/config/settings/redis-url.ts';
import { withDeadline } from '../../../gateway/stores/redis/deadline.ts';
import { accessFindings } from './access-findings.ts';
import { type Contact, contact, REPLY_TIMEOUT_MS, serverTarget } from './contact.ts';
import { type Finding, fault, type PlacedFinding, warning } from './finding.ts';
import { paceFindings } from './pace-findings.ts';
import { refusalText, rightText } from './refusals.ts';
import { type GatewaySettings, replicaFindings } from './replica-findings.ts';
import { serverFindings, unusable } from './server-findings.ts';
import { type CountingServer, countingServers } from './topology.ts';
import { Trial } from './trial.ts';

export interface ExamineOptions extends GatewaySettings {
  readonly target: RedisTarget;
  /** The maximum time a request waits for Redis. */
  readonly storeTimeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Takes seconds per server at most, whatever the servers do. */
export async function* examineRedis(options: ExamineOptions): AsyncGenerator<Finding> {
  const servers = yield* countingServers(options.target);
  const counting: CountingServer[] = [];
  for (const server of servers) {
    let canCount = true;
    for await (const finding of serverExamination(server, options)) {
      if (finding.level === 'fault') canCount = false;
      yield { ...finding, place: redisPlace(server.address) };
    }
    if (canCount) counting.push(server);
  }
  yield* runTrial(options.target, counting);
}

/** Stops at the first fault. */
async function* serverExamination(
  { address }: CountingServer,
  { target, storeTimeoutMs, now, ...gateways }: ExamineOptions,
): AsyncGenerator<PlacedFinding> {
  const server = serverTarget(target, address);
  let reached: Contact | undefined;
  try {
    reached = await contact(server);
    const { client, info, ready } = reached;
    const obstacle = info && unusable(info, target.kind);
    if (obstacle !== undefined) {
      yield obstacle;
      return;
    }
    await ready();
    if (target.kind === 'cluster') yield* clusterFindings(reached);
    if (info === undefined) {
      yield warning(
        `${rightText('+info')}; without it, its version, memory and role are not examined`,
      );
    } else yield* serverFindings(info, target);
    yield* accessFindings(server, reached);
    yield* paceFindings({ client, storeTimeoutMs, now });
    yield* replicaFindings(reached, gateways);
  } catch (error) {
    yield fault(refusalText(error));
  } finally {
    reached?.client.disconnect();
  }
}

async function* clusterFindings({ client }: Contact): AsyncGenerator<PlacedFinding> {
  const reply = await withDeadline(client.call('CLUSTER', 'INFO'), REPLY_TIMEOUT_MS);
  if (String(reply).includes('cluster_state:ok')) return;
  yield fault('reports that its cluster is down: see CLUSTER INFO and CLUSTER NODES');
}

/** Does what a gateway does, on the servers without a fault. */
async function* runTrial(
  target: RedisTarget,
  servers: readonly CountingServer[],
): AsyncGenerator<Finding> {
  const [first] = servers;
  if (first === undefined) return;
  const trial = new Trial(target);
  try {
    for (const { address, holds } of servers) {
      for await (const finding of trial.counting(holds)) {
        yield { ...finding, place: redisPlace(address) };
      }
    }
    for await (const finding of trial.subscribing()) {
      yield { ...finding, place: redisPlace(first.address) };
    }
  } finally {
    trial.close();
  }
}
