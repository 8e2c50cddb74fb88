/** From the text of a policy file to what it says, or to every mistake in it at once. */
import type { z } from 'zod';
import type { PolicySet } from '../../core/policy-set.ts';
import { printable } from '../../core/printable.ts';
import { adviceOn } from '../check/advice.ts';
import { type Finding, lineOf } from '../diagnostic.ts';
import { FileError } from '../file-error.ts';
import { located, refuseUnreadable } from '../place-diagnostics.ts';
import type { LocatedRemark, Remark } from '../unplaced-diagnostic.ts';
import { type Path, readYaml, type YamlText } from '../yaml-text.ts';
import { accessSchema } from './access-schema.ts';
import type { CloudflareRanges } from './cloudflare-ranges.ts';
import type { ValidFile } from './compile.ts';
import { crossMistakes } from './cross-checks.ts';
import { type IdentitySection, identitySchema } from './identity-schema.ts';
import type { KeyEntry } from './key-list.ts';
import { notesOn } from './notes.ts';
import {
  answersSchema,
  defaultSchema,
  globalFailureMode,
  matchingSchema,
  outlineSchema,
  policySchema,
} from './policy-schema.ts';
import { mistakesFrom } from './schema-mistakes.ts';

/** What a policy file refers to. */
export interface PolicyFileContext {
  readonly cloudflare: CloudflareRanges;
  /** The file of keys that a policy file names. Throws a FileError when there is none, or it has mistakes. */
  readKeyFile(name: string): readonly KeyEntry[];
}

export interface ValidPolicies {
  readonly file: ValidFile;
  /** What its author should know, each as `file:line:column: path: note`. */
  readonly notes: readonly string[];
  /** The same, and what else there is to say, if there is time to find out. */
  findings(policySet: PolicySet, nowMs: number): Finding[];
}

/** Throws a FileError with every mistake. */
export function validatePolicyFile(
  text: string,
  fileName: string,
  context: PolicyFileContext,
): ValidPolicies {
  const yaml = readYaml(text);
  refuseUnreadable(yaml, fileName);
  const parts = new Parts(yaml);
  const file = validate(parts, yaml, context);
  if (file === undefined) {
    throw new FileError([...located(parts.mistakes, fileName, yaml), ...parts.elsewhere]);
  }
  const notes = notesOn(file);
  const findingsFrom = (remarks: readonly Remark[]) =>
    located(
      remarks.map((each) => ({ ...each, offset: yaml.offsetOf(each.path) })),
      fileName,
      yaml,
    );
  return {
    file,
    notes: findingsFrom(notes).map((note) => printable(lineOf(note))),
    findings: (policySet, nowMs) =>
      findingsFrom([
        ...notes,
        ...adviceOn(file, { policySet, nowMs, isWritten: yaml.has, ...context }),
      ]),
  };
}

/** Undefined when anything is wrong; what, is with the parts. */
function validate(parts: Parts, yaml: YamlText, context: PolicyFileContext): ValidFile | undefined {
  parts.parse(outlineSchema, yaml.value, []);
  const sections = isObject(yaml.value) ? yaml.value : {};
  const identity = parts.parse(identitySchema, sections.identity ?? {}, ['identity']);
  const matching = parts.parse(matchingSchema, sections.matching ?? {}, ['matching']);
  const answers = parts.parse(answersSchema, sections.answers ?? {}, ['answers']);
  const exempt = parts.parse(accessSchema, sections.exempt ?? [], ['exempt']);
  const block = parts.parse(accessSchema, sections.block ?? [], ['block']);
  const failureMode = parts.parse(globalFailureMode, sections.on_store_failure, [
    'on_store_failure',
  ]);
  const fallback = isObject(sections.default)
    ? parts.parse(defaultSchema, sections.default, ['default'])
    : undefined;
  const written: unknown[] = Array.isArray(sections.policies) ? sections.policies : [];
  const entries = written.map((entry, i) => parts.parse(policySchema, entry, ['policies', i]));
  const names = written.map((entry) => (isObject(entry) ? entry.name : undefined));
  const keys = parts.keysOf(identity, context);
  const caseSensitive = matching?.case_sensitive ?? false;
  const together = { identity, keys, exempt, block, fallback, entries, names, caseSensitive };
  const most = MAX_MISTAKES - parts.mistakes.length;
  for (const mistake of crossMistakes(together, yaml, most)) parts.mistakes.push(mistake);
  const isWrong = parts.mistakes.length > 0 || parts.elsewhere.length > 0;
  if (isWrong || !identity || !keys || !answers || !exempt || !block || !failureMode || !fallback) {
    return undefined;
  }
  const valid = entries.filter((entry) => !!entry);
  const lists = { exempt, block, entries: valid };
  return { identity, keys, answers, caseSensitive, failureMode, fallback, ...lists };
}

/** Nobody mends more at a time, and finding the place of each takes some. */
const MAX_MISTAKES = 1_000;

/** Validates the parts of a file one by one, and keeps what is wrong with any of them. */
class Parts {
  readonly mistakes: LocatedRemark[] = [];
  /** Mistakes in the file of keys. */
  readonly elsewhere: Finding[] = [];
  readonly #yaml: YamlText;

  constructor(yaml: YamlText) {
    this.#yaml = yaml;
  }

  parse<S extends z.ZodType>(schema: S, value: unknown, at: Path): z.output<S> | undefined {
    if (this.mistakes.length >= MAX_MISTAKES) return undefined;
    const result = schema.safeParse(value, { reportInput: true });
    if (result.success) return result.data;
    for (const mistake of mistakesFrom(result.error.issues, schema, at, this.#yaml)) {
      this.mistakes.push(mistake);
    }
    return undefined;
  }

  /** The listed keys, wherever they are listed. */
  keysOf(
    identity: IdentitySection | undefined,
    context: PolicyFileContext,
  ): readonly KeyEntry[] | undefined {
    const keys = identity?.api_key.keys;
    if (typeof keys !== 'string') return keys;
    try {
      return context.readKeyFile(keys);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      this.elsewhere.push(...error.findings);
      return undefined;
    }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
