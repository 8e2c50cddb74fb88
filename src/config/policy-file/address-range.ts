/** Address ranges as policy files spell them. */
import { z } from 'zod';
import { compileAddressSet } from '../../core/address.ts';
import { holds, Refusal } from '../refinement.ts';

export const addressRange = z
  .string()
  .meta({ title: 'address range', examples: ['10.0.0.0/8', 'loopback'] })
  .transform(holds(checkAddressRange));

/** Returns the range. Throws a RangeError that says how it would be right. */
function checkAddressRange(entry: string): string {
  if (/\/0+$/.test(entry)) {
    throw new Refusal('range-of-everyone', `"${entry}" is everyone, name a narrower range`);
  }
  compileAddressSet([entry], { cloudflare: [] });
  return entry;
}
