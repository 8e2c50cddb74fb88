/** What operators see of a listed key besides its partition: the id and the plan, in their own words. */
import type { ListedClients } from '../core/identity/api-key.ts';

export interface ListedFields {
  readonly client_id?: string | undefined;
  readonly plan?: string | undefined;
}

/** Empty for a client that is no listed key. */
export function listedFields(partition: string, listed: ListedClients): ListedFields {
  const known = listed.get(partition);
  if (known === undefined) return {};
  const { id, plan } = known;
  return { client_id: id, ...(plan !== undefined && { plan }) };
}

/** `id:acme (plan pro)` for a listed key, as commands take it; the partition of any other client. */
export function clientText({
  client,
  ...fields
}: ListedFields & { readonly client: string }): string {
  const { client_id: id, plan } = fields;
  if (id === undefined) return client;
  return plan === undefined ? `id:${id}` : `id:${id} (plan ${plan})`;
}
