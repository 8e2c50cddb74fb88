/** Listed API keys, in the policy file or in a file of their own. */
import { z } from 'zod';
import { FileError } from '../file-error.ts';
import { located, refuseUnreadable } from '../place-diagnostics.ts';
import type { LocatedRemark } from '../unplaced-diagnostic.ts';
import { readYaml, type YamlBounds } from '../yaml-text.ts';
import { mistakesFrom } from './schema-mistakes.ts';

/** Of policies and plans: it stands in labels and headers. */
export const shortName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be 1 to 64 of a-z, 0-9, "_" and "-"')
  .meta({ title: 'name (1 to 64 of a-z, 0-9, "_" and "-")' });

const key = z.strictObject({
  id: z.string().min(1).max(64).describe('Of the client: several keys may share it, and a quota.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the key, 64 digits of 0-9 a-f')
    .meta({ title: '64 digits of 0-9 a-f' })
    .describe('Of the key, which itself is nowhere in the file: headgate key new prints both.'),
  plan: shortName.optional().describe('Whose limits the client gets, see plans.'),
});

export const keyListSchema = z.array(key);

export type KeyEntry = z.output<typeof key>;

/** Enough for 70,000 keys. */
const BOUNDS: YamlBounds = { maxBytes: 8 * 1024 * 1024, maxParts: 1_000_000 };
const MAX_MISTAKES = 100;

/** Throws a FileError that names every mistake. */
export function readKeyFile(text: string, fileName: string): readonly KeyEntry[] {
  const yaml = readYaml(text, BOUNDS);
  // Somebody may have written keys in it as they are.
  refuseUnreadable({ ...yaml, excerpt: () => undefined }, fileName);
  const refuse = (mistakes: readonly LocatedRemark[]) =>
    new FileError(located(mistakes, fileName, yaml));
  const result = keyListSchema.safeParse(yaml.value, { reportInput: true });
  if (!result.success) throw refuse(mistakesFrom(result.error.issues, keyListSchema, [], yaml));
  const doubled = doubledKeys(result.data)
    .slice(0, MAX_MISTAKES)
    .map((index): LocatedRemark => {
      const path = [index, 'sha256'];
      return { rule: 'key-twice', offset: yaml.offsetOf(path), path, message: DOUBLED };
    });
  if (doubled.length > 0) throw refuse(doubled);
  return result.data;
}

export const DOUBLED = 'is listed twice, each key has one entry';

/** The places of keys that have an entry already. */
export function doubledKeys(keys: readonly KeyEntry[]): number[] {
  const digests = new Set<string>();
  return keys.flatMap(({ sha256 }, index) => {
    const isDoubled = digests.has(sha256);
    digests.add(sha256);
    return isDoubled ? [index] : [];
  });
}
