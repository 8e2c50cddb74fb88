/** Reads deploy/prometheus and docs/runbooks. */
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';

const RULES_FOLDER = new URL('../../deploy/prometheus/', import.meta.url);
const RUNBOOK_FOLDER = new URL('../../docs/runbooks/', import.meta.url);
export const RULES_FILE = new URL('alerts.yaml', RULES_FOLDER);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface RulesFile {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

const read = (file: URL) => readFileSync(file, 'utf8');

export const RULES = (parse(read(RULES_FILE)) as RulesFile).groups.flatMap(({ rules }) => rules);

export const RULE_TESTS = readdirSync(RULES_FOLDER)
  .filter((name) => name.endsWith('.test.yaml'))
  .map((name) => new URL(name, RULES_FOLDER));

/** The text of each runbook, by the name of its file. */
export const RUNBOOKS: ReadonlyMap<string, string> = new Map(
  readdirSync(RUNBOOK_FOLDER).map((name) => [name, read(new URL(name, RUNBOOK_FOLDER))]),
);

/** The fenced blocks of a language, in all runbooks. */
export function blocksOf(language: string): string[] {
  const fenced = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm');
  return [...RUNBOOKS.values()].flatMap((text) =>
    [...text.matchAll(fenced)].map(([, block = '']) => block),
  );
}

/** The names of metrics in a text. */
export function metricsNamedIn(text: string): string[] {
  return [...new Set(text.match(/\b(headgate|nodejs|process)_[a-z0-9_]+/g) ?? [])];
}
