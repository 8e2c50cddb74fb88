/** Reads all that is shown at once from a gateway. */
import type { Output } from '../../gateway/operations/operation-table.ts';
import { callGateway, type GatewayFlags } from '../ops-client/gateway-client.ts';

export interface Snapshot {
  readonly overview: Output<'overview'>;
  readonly denied: Output<'top'>;
  /** What the denied clients were searched for; empty: they are those with the most denials. */
  readonly filter: string;
}

export type Policy = Output<'overview'>['policies'][number];
export type DeniedClient = Output<'top'>['clients'][number];

/** A gateway lists no more. */
const MOST_CLIENTS = 100;

/** Rejects with GatewayRefused. */
export async function gather(flags: GatewayFlags, filter = '') {
  const [overview, denied] = await Promise.all([
    callGateway(flags, 'overview', {}),
    callGateway(flags, 'findDenied', { limit: MOST_CLIENTS, filter }),
  ]);
  return {
    json: { overview: overview.json, top: denied.json },
    read: (): Snapshot => ({ overview: overview.read(), denied: denied.read(), filter }),
  };
}
