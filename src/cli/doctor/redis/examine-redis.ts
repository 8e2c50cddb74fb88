import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import type { RedisTarget } from '../../../gateway/config/settings/redis-url.ts';
import { withDeadline } from '../../../gateway/stores/redis/failures.ts';
import { countGateways } from '../../../gateway/stores/redis/peers.ts';
import { accessFindings } from './access-findings.ts';
import { type Contact, contact, REPLY_TIMEOUT_MS, serverTarget } from './contact.ts';
import { fault, on, warning } from './diagnostics.ts';
import { paceFindings } from './pace-findings.ts';
import { refusalText, rightText } from './refusals.ts';
import { serverFindings, unusable } from './server-findings.ts';
import { type CountingServer, countingServers } from './topology.ts';
import { openTrial } from './trial.ts';

export interface ExamineOptions {
  readonly target: RedisTarget;
  readonly storeTimeoutMs: number;
  readonly now: () => number;
  readonly replicas: number;
  /** Each worker of a gateway counts as a gateway. */
  readonly workers: number;
  /** Redis keeps API keys, too. */
  readonly keysInStore?: boolean;
}

/** Says whether gateways can count in a Redis, and how well. It takes seconds per server at most. */
export async function* examineRedis(options: ExamineOptions): AsyncGenerator<Diagnostic> {
  const servers = yield* countingServers(options.target);
  const counting: CountingServer[] = [];
  for (const server of servers) {
    let canCount = true;
    for await (const diagnostic of serverExamination(server, options)) {
      if (diagnostic.severity === 'error') canCount = false;
      yield on(server.address, diagnostic);
    }
    if (canCount) counting.push(server);
  }
  yield* runTrial(options.target, counting);
}

async function* serverExamination(
  { address }: CountingServer,
  { target, storeTimeoutMs, now, keysInStore, ...gateways }: ExamineOptions,
): AsyncGenerator<Diagnostic> {
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
    } else yield* serverFindings(info, { ...target, keysInStore });
    yield* accessFindings(server, reached);
    yield* paceFindings({ client, storeTimeoutMs, now });
    yield* replicaFindings(reached, gateways);
  } catch (error) {
    yield fault(refusalText(error));
  } finally {
    reached?.client.disconnect();
  }
}

async function* clusterFindings({ client }: Contact): AsyncGenerator<Diagnostic> {
  const reply = await withDeadline(client.call('CLUSTER', 'INFO'), REPLY_TIMEOUT_MS);
  if (String(reply).includes('cluster_state:ok')) return;
  yield fault('reports that its cluster is down: see CLUSTER INFO and CLUSTER NODES');
}

/** Each gateway must know from its start how many share a limit. */
async function* replicaFindings(
  { client }: Contact,
  { replicas, workers }: Pick<ExamineOptions, 'replicas' | 'workers'>,
): AsyncGenerator<Diagnostic> {
  if (replicas > 1) return;
  let count = 0;
  try {
    count = await withDeadline(countGateways(client), REPLY_TIMEOUT_MS);
  } catch {
    // Another node of a cluster has the list, or the account may not read it, which is a finding already.
  }
  if (count <= workers) return;
  yield warning(
    `${count} gateways count here, and HEADGATE_REPLICAS is 1: while Redis is down, a gateway that starts admits its full limits; set it to their number`,
  );
}

async function* runTrial(
  target: RedisTarget,
  servers: readonly CountingServer[],
): AsyncGenerator<Diagnostic> {
  const [first] = servers;
  if (first === undefined) return;
  const trial = openTrial(target);
  try {
    for (const { address, holds } of servers)
      for await (const diagnostic of trial.counting(holds)) yield on(address, diagnostic);
    for await (const diagnostic of trial.subscribing()) yield on(first.address, diagnostic);
  } finally {
    trial.close();
  }
}
