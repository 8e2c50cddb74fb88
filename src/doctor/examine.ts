/** Examines a Redis for whether gateways can count there, and how well. */
import type { RedisTarget } from '../config/settings/redis-target.ts';
import { withDeadline } from '../stores/redis/deadline.ts';
import { accessFindings } from './access-findings.ts';
import { type Contact, contact, REPLY_TIMEOUT_MS, serverTarget } from './contact.ts';
import { type Finding, fault, type PlacedFinding, warning } from './finding.ts';
import { paceFindings } from './pace-findings.ts';
import { refusalText, rightText } from './refusals.ts';
import { serverFindings, unusable } from './server-findings.ts';
import { type CountingServer, countingServers, placeOf } from './topology.ts';
import { Trial } from './trial.ts';

export interface ExamineOptions {
  readonly target: RedisTarget;
  /** How long requests wait for it at most. */
  readonly storeTimeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Ends within seconds for each server, whatever the servers do. */
export async function* examineRedis(options: ExamineOptions): AsyncGenerator<Finding> {
  const servers = yield* countingServers(options.target);
  const counting: CountingServer[] = [];
  for (const server of servers) {
    let canCount = true;
    for await (const finding of serverExamination(server, options)) {
      if (finding.level === 'fault') canCount = false;
      yield { ...finding, place: placeOf(server.address) };
    }
    if (canCount) counting.push(server);
  }
  yield* tryOut(options.target, counting);
}

/** Ends where a server cannot be asked any more. */
async function* serverExamination(
  { address }: CountingServer,
  { target, storeTimeoutMs, now }: ExamineOptions,
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
  } catch (error) {
    yield fault(refusalText(error));
  } finally {
    reached?.client.disconnect();
  }
}

async function* clusterFindings({ client }: Contact): AsyncGenerator<PlacedFinding> {
  const reply = await withDeadline(client.call('CLUSTER', 'INFO'), REPLY_TIMEOUT_MS);
  if (String(reply).includes('cluster_state:ok')) return;
  yield fault('says that its cluster is down: see CLUSTER INFO and CLUSTER NODES');
}

/** As a gateway, where nothing stands against it so far. */
async function* tryOut(
  target: RedisTarget,
  servers: readonly CountingServer[],
): AsyncGenerator<Finding> {
  const [first] = servers;
  if (first === undefined) return;
  const trial = new Trial(target);
  try {
    for (const { address, holds } of servers) {
      for await (const finding of trial.counting(holds)) {
        yield { ...finding, place: placeOf(address) };
      }
    }
    for await (const finding of trial.hearing()) {
      yield { ...finding, place: placeOf(first.address) };
    }
  } finally {
    trial.close();
  }
}
