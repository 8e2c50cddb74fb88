import { z } from 'zod';
import { type DiagnosticDraft, FileError, type Path } from '../diagnostic.ts';
import { POLICY_FILE, YamlFile, type YamlKind } from '../yaml/yaml-file.ts';
import { parsePart } from './schema-mistakes.ts';

/** The name of a policy or plan. It is used in metric labels and headers. */
export const shortName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must have 1 to 64 characters of a-z, 0-9, "_" and "-"')
  .meta({ title: 'name (1 to 64 of a-z, 0-9, "_" and "-")' });

export const keyEntry = z.strictObject({
  id: z
    .string()
    .min(1)
    .max(64)
    .describe('The id of the client. Keys with the same id share a quota.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the key, 64 digits of 0-9 a-f')
    .meta({ title: '64 digits of 0-9 a-f' })
    .describe(
      'The SHA-256 of the key. The key itself is not in the file. headgate key new prints both.',
    ),
  plan: shortName.optional().describe('The plan whose limits the client gets, see plans.'),
});

export const keyListSchema = z.array(keyEntry);

export type KeyEntry = z.output<typeof keyEntry>;

/** Room for 70,000 keys. */
const KEY_FILE: YamlKind = {
  ...POLICY_FILE,
  maxBytes: 8 * 1024 * 1024,
  maxParts: 1_000_000,
  // It may hold plain keys by mistake.
  isSecret: true,
};
const MAX_MISTAKES = 100;

/** Throws a FileError that names every mistake. `folder`: that of the policy file. */
export function readKeyFile(text: string, fileName: string, folder?: string): readonly KeyEntry[] {
  const yaml = new YamlFile(text, fileName, KEY_FILE);
  yaml.refuseMistakes(folder);
  const mistakes: DiagnosticDraft[] = [];
  const keys = parsePart(keyListSchema, yaml.value, { at: [], yaml, mistakes }) ?? [];
  const repeated = repeatedKeys(keys).slice(0, MAX_MISTAKES);
  mistakes.push(...repeated.map((index) => keyTwice([index, 'sha256'])));
  if (mistakes.length > 0) throw new FileError(yaml.diagnostics(mistakes));
  return keys;
}

export function keyTwice(path: Path): DiagnosticDraft {
  return { rule: 'key-twice', path, message: 'is listed twice, keep one of the entries' };
}

/** The indices of keys that are listed before. */
export function repeatedKeys(keys: readonly KeyEntry[]): number[] {
  const digests = new Set<string>();
  return keys.flatMap(({ sha256 }, index) => {
    const isRepeated = digests.has(sha256);
    digests.add(sha256);
    return isRepeated ? [index] : [];
  });
}
