/** Reads the text of a rate limit file. What the file means is checked later, with that of other files (compile.ts). */
import {
  type DiagnosticDraft,
  type Rule as DiagnosticRule,
  diagnostic,
  pathText,
} from '../../config/diagnostic.ts';
import { YamlFile, type YamlKind } from '../../config/yaml/yaml-file.ts';
import type { RuleFile } from './rule.ts';
import { withScalars } from './yaml-scalars.ts';
import { valueFrom } from './yaml-value.ts';

/** A file of 1,000,000 parts has about 80,000 limits. The parser takes some 4 seconds and 1 GB for them. */
const RULE_FILE: YamlKind = {
  name: 'a rate limit file',
  needed: '"domain"',
  maxBytes: 16 * 1024 * 1024,
  maxParts: 1_000_000,
  isLenient: true,
  options: { customTags: withScalars },
};

/** Rules about a key, not about its value. */
const ABOUT_KEYS: ReadonlySet<DiagnosticRule> = new Set([
  'unknown-key',
  'ratelimit-without-effect',
]);

/** Never throws: a text that cannot be used has `mistakes`. */
export function readRuleFile(name: string, text: string): RuleFile {
  const remarks: DiagnosticDraft[] = [];
  const yaml = new YamlFile(text, name, {
    ...RULE_FILE,
    toValue: (document, mistakes) => valueFrom(document, remarks, mistakes),
  });
  const { value } = yaml;
  if (yaml.mistakes.length > 0) return { name, value, mistakes: yaml.placedMistakes() };
  return { name, value, remarks, place: (drafts) => place(drafts, name, text) };
}

/** Parses the text again: a parsed text takes much memory, and mostly there is nothing to place. */
function place(drafts: readonly DiagnosticDraft[], name: string, text: string) {
  if (drafts.length === 0) return [];
  const yaml = new YamlFile(text, name, { ...RULE_FILE, toValue: () => undefined });
  const placed = drafts.map((draft) =>
    ABOUT_KEYS.has(draft.rule)
      ? { ...draft, offset: yaml.offsetOfKey(draft.path.slice(0, -1), String(draft.path.at(-1))) }
      : draft,
  );
  return yaml.diagnostics(placed);
}

/** Values of a control plane have no text, and so no places. */
export function withoutPlaces(drafts: readonly DiagnosticDraft[], name: string) {
  return drafts.map(({ rule, path, message }) =>
    diagnostic({
      rule,
      file: name,
      place: undefined,
      path: pathText(path),
      message: path.length === 0 ? `the file ${message}` : message,
    }),
  );
}

/** Keys at the top of a file, which may be written as one flow map. */
const KEY_OF_RULES = /^(?:\{[ \t]*)?["']?(?:domain|descriptors)["']?[ \t]*:/m;
const KEY_OF_POLICIES = /^(?:\{[ \t]*)?["']?(?:version|policies|default)["']?[ \t]*:/m;

export function isRuleFile(text: string): boolean {
  return KEY_OF_RULES.test(text) && !KEY_OF_POLICIES.test(text);
}
