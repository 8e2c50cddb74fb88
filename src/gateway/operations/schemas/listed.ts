/** Entries of `exempt` and `block` in the policy file. */
import { z } from 'zod';
import { time } from './fields.ts';

export const listedReportSchema = z.object({
  list: z.enum(['exempt', 'block']),
  entry: z.string().describe('As written: an address, a range, or `key` and the id of a key.'),
  place: z.string().describe('File and line.').optional(),
  comment: z.string().describe('What the author of the file wrote at the entry.').optional(),
  until: time.optional(),
  applies: z.boolean().describe('false: it has no effect; `what` says why.'),
  what: z.string().describe('In words.'),
});
export type ListedReport = z.output<typeof listedReportSchema>;
