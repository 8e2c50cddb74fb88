/** Validates `per` of a limit, which says for whom it counts: `client`, `ip`, `header:x-tenant`. */
import type { HeaderPartition, NamedPartition, Partition } from '../../core/policy.ts';
import { hint } from '../closest-word.ts';

const NAMES: readonly NamedPartition[] = ['client', 'ip', 'api_key', 'user', 'global'];

/** These hold addresses. Addresses count as `ip`: by pseudonym, and only if a trusted proxy reports them. */
const ADDRESS_HEADER =
  /^(x-forwarded-for|forwarded|x-real-ip|true-client-ip|cf-connecting-ip|x-headgate-.*)$/;

export const PARTITION_PATTERN = /^(client|ip|api_key|user|global|header:[A-Za-z0-9-]+)$/;

/** Throws a RangeError whose message says what is wrong and gives the right form. */
export function parsePartition(text: string): Partition {
  if (ADDRESS_HEADER.test(text.slice('header:'.length).toLowerCase())) {
    throw new RangeError(`"${text}" holds an address, write "per: ip"`);
  }
  if (PARTITION_PATTERN.test(text)) return text.toLowerCase() as NamedPartition | HeaderPartition;
  if (text.startsWith('header:')) {
    throw new RangeError(
      `"${text}" must name a header of letters, digits and "-", as in "header:x-tenant"`,
    );
  }
  throw new RangeError(
    `must be ${NAMES.join(', ')} or header:<name>, not "${text}"${hint(text.toLowerCase(), NAMES)}`,
  );
}
