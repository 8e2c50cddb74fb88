/** Words for what a reset covered. */
import type { OutputOf } from '../../gateway/operations/operation.ts';
import type { RESET } from '../../gateway/operations/schemas/clients.ts';

type Done = Pick<OutputOf<typeof RESET>, 'policies' | 'address'>;

/** `id:acme: counters reset: login, search; also those of its address i.2d6...` */
export function resetText(name: string, { policies, address }: Done): string {
  const also = address === undefined ? '' : `; also those of its address ${address}`;
  return `${name}: counters reset: ${policies.join(', ')}${also}`;
}
