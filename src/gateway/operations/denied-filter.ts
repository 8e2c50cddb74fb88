import { z } from 'zod';
import { StoreError } from '../core/counting/store.ts';
import type { ListedClients } from '../core/identity/listed-clients.ts';
import type { DenialReport } from '../denials/denial-report.ts';
import { clientNow } from './client-name.ts';
import { OperationError } from './operation-error.ts';
import { listedFields } from './override-report.ts';
import type { Gateway } from './running-gateway.ts';

const LONGEST_FILTER = 256;

/** What gateways send each other. An address or a key is replaced by its partitions. */
export const deniedFilterSchema = z.union([
  z.object({ part: z.string().max(LONGEST_FILTER) }),
  z.object({ clients: z.array(z.string().max(LONGEST_FILTER)).max(100) }),
]);
export type DeniedFilter = z.output<typeof deniedFilterSchema>;

const DECISION_ID = /^([0-9a-f]{12}-)\d+$/;

export async function deniedFilter(text: string, gateway: Gateway): Promise<DeniedFilter> {
  try {
    // One letter is the beginning of a word, and also the client that stands for all.
    if (text.length === 1) return { part: text.toLowerCase() };
    return { clients: [...(await clientNow(text, gateway)).own] };
  } catch (error) {
    // While the store is away, an id is still found by its text.
    if (!(error instanceof OperationError || error instanceof StoreError)) throw error;
    // A key must not be sent to other gateways.
    if (text.startsWith('key:')) return { clients: [] };
    const part = text.toLowerCase();
    // All denials of a client, policy and reason begin with the same digits.
    return { part: DECISION_ID.exec(part)?.[1] ?? part };
  }
}

export function matchesFilter(
  filter: DeniedFilter,
  { client, policy, reason, decision_id: id, counted = client, names }: DenialReport,
  listed: ListedClients,
): boolean {
  if ('clients' in filter) {
    return [client, counted, ...names].some((name) => filter.clients.includes(name));
  }
  const { client_id, plan } = listedFields(client, listed);
  const texts = [client, client_id && `id:${client_id}`, plan, policy, reason, id];
  return texts.some((text) => text?.toLowerCase().includes(filter.part));
}
