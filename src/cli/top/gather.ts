/** Asks a gateway for all that is shown at once. */
import { OPERATIONS } from '../../gateway/operations/operation-table.ts';
import type { DenialList } from '../../gateway/operations/schemas/denials.ts';
import type { Overview } from '../../gateway/operations/schemas/overview.ts';
import { callGateway, type GatewayFlags } from '../ops-client/gateway-client.ts';

export interface Snapshot {
  readonly overview: Overview;
  readonly denied: DenialList;
  /** What the denied clients were searched for; empty: they are those with the most denials. */
  readonly filter: string;
}

export type Policy = Overview['policies'][number];
export type DeniedClient = DenialList['clients'][number];

/** As many as a gateway tells. */
const MOST_CLIENTS = 100;

/** Both answers; rejects with GatewayRefused. */
export async function gather(flags: GatewayFlags, filter = '') {
  const [overview, denied] = await Promise.all([
    callGateway(flags, OPERATIONS.overview, {}),
    callGateway(flags, OPERATIONS.findDenied, { limit: MOST_CLIENTS, filter }),
  ]);
  return {
    json: { overview: overview.json, top: denied.json },
    read: (): Snapshot => ({ overview: overview.read(), denied: denied.read(), filter }),
  };
}
