/** Whether each gateway knows from its start how many share a limit. */
import { withDeadline } from '../../../gateway/stores/redis/failures.ts';
import { countGateways } from '../../../gateway/stores/redis/peers.ts';
import { type Contact, REPLY_TIMEOUT_MS } from './contact.ts';
import { type PlacedFinding, warning } from './finding.ts';

export interface GatewaySettings {
  /** HEADGATE_REPLICAS */
  readonly replicas: number;
  /** Each worker of a gateway counts as a gateway. */
  readonly workers: number;
}

export async function* replicaFindings(
  { client }: Contact,
  { replicas, workers }: GatewaySettings,
): AsyncGenerator<PlacedFinding> {
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
