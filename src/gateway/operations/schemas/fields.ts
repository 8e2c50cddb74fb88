import { z } from 'zod';
import { POLICY_MODES } from '../../core/policy.ts';
import { WITHOUT_CONTROLS } from '../../core/printable.ts';

/** Only the document has the patterns below: the operations say more precisely what is wrong. */
const IPV4 = `(${upTo(255)}|0)(\\.(${upTo(255)}|0)){3}`;
const IPV6 = `(${ipv6Forms().join('|')})`;
export const ADDRESS_PATTERN = `^(${IPV4}|${IPV6})$`;
const CLIENT_PATTERN = `^(${[
  '[cdhikru]\\.[A-Za-z0-9_-]{22}|g',
  '(id|key|user):[\\s\\S]+',
  IPV4,
  `${IPV6}(/(${upTo(128)}|0))?`,
  '[0-9a-f]{12}-[1-9][0-9]{0,8}',
].join('|')})$`;
/** At most 31 days, in each unit. */
const TERM_PATTERN = `^(${upTo(2_678_400)}s|${upTo(44_640)}min|${upTo(744)}h|${upTo(31)}d)$`;

/** A field that may be absent; the text says when, or what it is. */
export function optional<Schema extends z.ZodType>(schema: Schema, description: string) {
  return schema.describe(description).optional();
}

export const withoutControls = [WITHOUT_CONTROLS, 'must not contain control characters'] as const;
export const count = z.int().min(0);
export const time = z.iso.datetime();
export const policyMode = z.enum(POLICY_MODES);
export const policyName = z.string().min(1).max(256);

export const client = z
  .string()
  .min(1)
  .max(8_192)
  .meta({
    description:
      'The client: an address, an IPv6 network that the policy file counts, a client as the log names it (`i.`, `k.`, `c.`, `u.`), `id:` and the id of a listed key, `key:` and a key, `user:` and a user, or a decision id.',
    pattern: CLIENT_PATTERN,
    examples: ['203.0.113.9', 'id:acme', '0f6e2d9c41ab-3'],
  });

export const policyFields = {
  name: z.string(),
  mode: policyMode,
  mode_of_file: policyMode,
  limits: z.array(z.string()).describe('In words.'),
  plans: optional(
    z.array(z.object({ plan: z.string(), limits: z.array(z.string()) })),
    'The limits of clients with a plan, in place of `limits`. Absent if there are none.',
  ),
  on_store_failure: z.string(),
};

export const listedClient = {
  client_id: optional(z.string(), 'The id of a listed key, as in the policy file.'),
  plan: optional(z.string(), 'The plan of a listed key.'),
  is_plan_unknown: optional(
    z.literal(true),
    'Present if no policy has that plan, so that the limits without a plan apply.',
  ),
};

export const listedReportSchema = z.object({
  list: z.enum(['exempt', 'block']),
  entry: z.string().describe('As written: an address, a range, or `key` and the id of a key.'),
  place: optional(z.string(), 'File and line.'),
  is_in_store: optional(
    z.literal(true),
    'Present if an operator blocked the key in the store (`headgate keys`), and no entry of the file.',
  ),
  comment: optional(z.string(), 'What the author of the file wrote at the entry.'),
  until: time.optional(),
  applies: z.boolean().describe('false: it has no effect; `what` says why.'),
  what: z.string().describe('In words.'),
});
export type ListedReport = z.output<typeof listedReportSchema>;

export const by = z
  .string()
  .min(1)
  .max(64)
  .regex(...withoutControls)
  .describe('Name of the operator, for the audit log.');

export const reason = z
  .string()
  .min(1)
  .max(200)
  .regex(...withoutControls)
  .describe('Reason, for the audit log and the list of overrides.');

export const terms = {
  for: z.string().meta({
    description: 'Duration of the override: a number and s, min, h or d; at most 31d.',
    pattern: TERM_PATTERN,
    examples: ['30min'],
  }),
  reason,
  by: by.optional(),
};

/** A pattern for the numbers from 1. */
function upTo(most: number): string {
  const digits = [...String(most)];
  const shorter = digits.length === 1 ? [] : [`[1-9][0-9]{0,${digits.length - 2}}`];
  const asLong = digits.flatMap((digit, i) => {
    const least = i === 0 ? 1 : 0;
    const rest = digits.length - 1 - i;
    if (Number(digit) === least) return [];
    return `${digits.slice(0, i).join('')}[${least}-${Number(digit) - 1}][0-9]{${rest}}`;
  });
  return `(${[...shorter, ...asLong, most].join('|')})`;
}

function ipv6Forms(): string[] {
  const group = '[0-9A-Fa-f]{1,4}';
  const shortened = [1, 2, 3, 4, 5, 6].map(
    (before) => `(${group}:){${before}}(:${group}){1,${7 - before}}`,
  );
  return [`(${group}:){7}${group}`, `(${group}:){1,7}:`, `:(:${group}){1,7}`, '::', ...shortened];
}
