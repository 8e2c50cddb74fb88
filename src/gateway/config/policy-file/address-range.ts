/** Schema of an address range: a CIDR range, an address, or the name of a range. */
import { z } from 'zod';
import { compileAddressSet } from '../../core/identity/address.ts';
import { holds, Refusal } from '../refinement.ts';

export const addressRange = z
  .string()
  .meta({ title: 'address range', examples: ['10.0.0.0/8', 'loopback'] })
  .transform(holds(checkAddressRange));

/** Returns the range. Throws a RangeError whose message says what is wrong. */
function checkAddressRange(entry: string): string {
  if (/\/0+$/.test(entry)) {
    throw new Refusal(
      'range-of-everyone',
      `"${entry}" contains every address, name a narrower range`,
    );
  }
  compileAddressSet([entry], { cloudflare: [] });
  return entry;
}
