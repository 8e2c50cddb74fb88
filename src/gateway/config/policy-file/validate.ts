import type { z } from 'zod';
import { isRecord } from '../../core/is-record.ts';
import { type Diagnostic, type DiagnosticDraft, FileError, type Path } from '../diagnostic.ts';
import { YamlFile } from '../yaml/yaml-file.ts';
import { accessSchema } from './access-schema.ts';
import { withPages } from './answer-pages.ts';
import { answersSchema } from './answers-schema.ts';
import { crossCheck } from './cross-check.ts';
import { identitySchema } from './identity-schema.ts';
import type { KeyEntry } from './key-list.ts';
import {
  defaultSchema,
  globalFailureMode,
  matchingSchema,
  outlineSchema,
  policySchema,
} from './policy-file-schema.ts';
import { MAX_FILE_MISTAKES, parsePart } from './schema-mistakes.ts';
import {
  everyEntry,
  type IdentitySection,
  inlineKeys,
  keySources,
  type LimitEntry,
  limitLists,
  type Sections,
  type ValidFile,
} from './valid-file.ts';

export interface PolicyFileContext {
  /** Throws a FileError if there is no such key file, or it has mistakes. */
  readKeyFile(name: string): readonly KeyEntry[];
  /** The text of the file. Throws a FileError if there is no such file. */
  readPage(name: string): string;
}

export interface ValidPolicies {
  readonly file: ValidFile;
  readonly notes: readonly DiagnosticDraft[];
  /** Whether the file has a value at this path; false if a default applies. */
  isWritten(path: Path): boolean;
  place(drafts: readonly DiagnosticDraft[]): Diagnostic[];
}

/** Throws a FileError with every mistake. */
export function validatePolicyFile(
  text: string,
  fileName: string,
  context: PolicyFileContext,
): ValidPolicies {
  const yaml = new YamlFile(text, fileName);
  yaml.refuseMistakes();
  const place = (drafts: readonly DiagnosticDraft[]) => yaml.diagnostics(drafts);
  const mistakes: DiagnosticDraft[] = [];
  const pages = withPages(yaml.value, context.readPage);
  const parsed = parseSections(yaml, pages, mistakes);
  const { keys, mistakes: keyMistakes } = readKeys(parsed.identity, context);
  const sections = { ...parsed, keys };
  const lineAt = (path: Path) => yaml.placeOf(path).line;
  mistakes.push(...crossCheck(sections, lineAt, MAX_FILE_MISTAKES - mistakes.length));
  const placed = (section: 'exempt' | 'block') =>
    sections[section]?.map((entry, i) => ({
      ...entry,
      place: `${fileName}:${lineAt([section, i])}`,
      comment: entry.comment ?? yaml.commentAt([section], i),
    }));
  const file = validFile({ ...sections, exempt: placed('exempt'), block: placed('block') });
  if (file === undefined || mistakes.length + pages.mistakes.length > 0) {
    throw new FileError([...place(mistakes), ...keyMistakes, ...pages.mistakes]);
  }
  return { file, notes: notesOn(file), place, isWritten: (path) => yaml.has(path) };
}

type WrittenSections = ReturnType<typeof withPages>;
type ParsedSections = ReturnType<typeof parseSections>;

/** Parses each section by itself, so that one mistake does not hide another. Adds what is wrong to `mistakes`. */
function parseSections(
  yaml: YamlFile,
  { written, policies }: WrittenSections,
  mistakes: DiagnosticDraft[],
) {
  const parse = <S extends z.ZodType>(schema: S, value: unknown, at: Path) =>
    parsePart(schema, value, { at, yaml, mistakes });
  parse(outlineSchema, yaml.value, []);
  const matching = parse(matchingSchema, written.matching ?? {}, ['matching']);
  return {
    identity: parse(identitySchema, written.identity ?? {}, ['identity']),
    answers: parse(answersSchema, written.answers ?? {}, ['answers']),
    exempt: parse(accessSchema, written.exempt ?? [], ['exempt']),
    block: parse(accessSchema, written.block ?? [], ['block']),
    failureMode: parse(globalFailureMode, written.on_store_failure, ['on_store_failure']),
    // The outline reports a default that is missing or not a map.
    fallback: isRecord(written.default)
      ? parse(defaultSchema, written.default, ['default'])
      : undefined,
    entries: policies.map((entry, i) => parse(policySchema, entry, ['policies', i])),
    names: policies.map((entry) => (isRecord(entry) ? entry.name : undefined)),
    caseSensitive: matching?.case_sensitive ?? false,
  };
}

function readKeys(identity: IdentitySection | undefined, context: PolicyFileContext) {
  if (identity === undefined) return { keys: undefined, mistakes: [] };
  const { file } = keySources(identity);
  try {
    const keys = file === undefined ? inlineKeys(identity) : context.readKeyFile(file);
    return { keys, mistakes: [] };
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return { keys: undefined, mistakes: error.diagnostics };
  }
}

/** Undefined if a section or the key file has mistakes. */
function validFile(
  sections: Omit<ParsedSections, 'exempt' | 'block'> & Pick<Sections, 'keys' | 'exempt' | 'block'>,
): ValidFile | undefined {
  const { identity, keys, answers, exempt, block, failureMode, fallback, caseSensitive } = sections;
  if (!identity || !keys || !answers || !exempt || !block || !failureMode || !fallback) {
    return undefined;
  }
  const entries = sections.entries.filter((entry) => entry !== undefined);
  return { identity, keys, answers, caseSensitive, failureMode, fallback, exempt, block, entries };
}

/** Counters and fixed windows admit up to twice their limit. Below this number, that is a warning. */
const SMALL_LIMIT = 50;

function notesOn(file: ValidFile): DiagnosticDraft[] {
  return everyEntry(file)
    .flatMap(({ entry, at }) => limitLists(entry, at))
    .flatMap(({ limits, path }) =>
      limits.flatMap((limit, index) => {
        const note = noteOn(limit);
        return note === undefined ? [] : [{ ...note, path: [...path, index] }];
      }),
    );
}

type Note = Pick<DiagnosticDraft, 'rule' | 'message'>;

/** `npm run prove -- worst-case` measures these worst cases. */
function noteOn(entry: LimitEntry): Note | undefined {
  const { rate, algorithm } = entry;
  const { limit, window } = rate;
  switch (algorithm) {
    case 'sliding-window-log':
      return undefined;
    case 'token-bucket': {
      const worst = (entry.burst ?? limit) + limit - 1;
      const message = `token-bucket admits bursts by design: up to ${worst} units in ${window}`;
      return { rule: 'bucket-bursts', message };
    }
    case 'sliding-window-counter': {
      const worst = `up to ${2 * limit - 1} units, about twice the limit, pass in ${window} at a window boundary`;
      return boundaryNote(entry, 'is approximate', worst);
    }
    case 'fixed-window': {
      const worst = `up to ${2 * limit} units, twice the limit, pass within a moment around the end of a window`;
      return boundaryNote(entry, 'starts from zero with each window', worst);
    }
  }
}

/** An author who names a day or a month has chosen its boundaries. */
function boundaryNote({ rate, algorithm, unit }: LimitEntry, why: string, worst: string): Note {
  const { limit, calendar } = rate;
  // A log counts no units.
  if (limit >= SMALL_LIMIT || calendar !== undefined || unit !== undefined) {
    return { rule: 'approximate-limit', message: `${algorithm} ${why}: ${worst}` };
  }
  const message = `${algorithm} is too inexact for a limit of ${limit}: ${worst}; use sliding-window-log, which is exact`;
  return { rule: 'approximate-small-limit', message };
}
