import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Diagnostic, diagnostic, FileError } from '../../gateway/config/diagnostic.ts';
import { displayName, readText } from '../../gateway/config/text-file.ts';
import { isKubernetesObject } from '../../gateway/config/yaml/parser-mistakes.ts';
import { type ExaminedRuleFile, examineRules } from '../../gateway/ratelimit/rules/compile.ts';
import { isRuleFile, readRuleFile } from '../../gateway/ratelimit/rules/rule-file.ts';
import { listRuleFiles } from '../../gateway/ratelimit/rules/rule-files.ts';
import type { ExaminedFile } from '../output/diagnostics.ts';
import { examinePolicies } from './advice/examine-policies.ts';

export interface CheckOptions {
  readonly cloudflareRanges: string;
  readonly mergeDomains: boolean;
  readonly nowMs: number;
  readonly input: string;
}

export const STANDARD_INPUT = '-';

interface CheckedFile {
  readonly path: string;
  readonly text: string | undefined;
  readonly isRuleFile: boolean;
  readonly notes?: readonly Diagnostic[];
  readonly refused?: readonly Diagnostic[];
}

export function checkFiles(paths: readonly string[], options: CheckOptions): ExaminedFile[] {
  const files = withoutRepeated(paths.flatMap((path) => filesOf(path, options.input)));
  const ruleFiles = files.filter((file) => file.isRuleFile);
  const { files: rules } = examineRules(
    ruleFiles.map(({ path, text = '' }) => readRuleFile(displayName(path), text)),
    options,
  );
  const examined = new Map(ruleFiles.map((file, i) => [file, rules[i]]));
  return files.map((file) => {
    const found = examined.get(file);
    return found === undefined ? examinePolicyFile(file, options) : asExamined(found, file.notes);
  });
}

/** A rate limit file that is named twice would have the domain of another file: its own. */
function withoutRepeated(files: readonly CheckedFile[]): CheckedFile[] {
  const known = new Set<string>();
  return files.filter(({ path, isRuleFile }) => {
    if (!isRuleFile || path === STANDARD_INPUT) return true;
    const isNew = !known.has(resolve(path));
    known.add(resolve(path));
    return isNew;
  });
}

function asExamined(
  { name, limits, diagnostics }: ExaminedRuleFile,
  notes: readonly Diagnostic[] = [],
): ExaminedFile {
  const isValid = diagnostics.every(({ severity }) => severity !== 'error');
  return {
    file: name,
    policies: undefined,
    limits: isValid ? limits : undefined,
    diagnostics: [...notes, ...diagnostics],
  };
}

function examinePolicyFile(
  { path, text, refused }: CheckedFile,
  { cloudflareRanges, nowMs }: CheckOptions,
): ExaminedFile {
  if (refused !== undefined) {
    return { file: displayName(path), policies: undefined, diagnostics: refused };
  }
  const paths = { policies: path, cloudflareRanges };
  // What could not be read is read again, for the reason.
  return examinePolicies(paths, nowMs, (named) => text ?? readText(named));
}

function filesOf(path: string, input: string): CheckedFile[] {
  if (path === STANDARD_INPUT) return [{ path, text: input, isRuleFile: isRuleFile(input) }];
  if (isDirectory(path)) {
    try {
      return filesOfDirectory(resolve(path));
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      const refused = error.diagnostics;
      return [{ path: resolve(path), text: undefined, isRuleFile: false, refused }];
    }
  }
  const text = textOf(path);
  return [{ path, text, isRuleFile: text !== undefined && isRuleFile(text) }];
}

/**
 * All files of a directory are rate limit files if one of them is, or is a Kubernetes object, whose mistake says so. Else
 * the directory is refused like a file.
 */
function filesOfDirectory(path: string): CheckedFile[] {
  const { files, leftOut } = listRuleFiles([path]);
  const read = files.map((file) => ({ path: file, text: textOf(file) }));
  if (!read.some(({ text = '' }) => isRuleFile(text) || isKubernetesObject(text))) {
    return [{ path, text: undefined, isRuleFile: false }];
  }
  const notes = leftOut.map((file) =>
    diagnostic({
      rule: 'ratelimit-folder-not-entered',
      file: displayName(file),
      place: undefined,
      path: '',
      message: 'is a link to a directory, or too deep: nothing in it is read',
    }),
  );
  return read.map(({ path: file, text }, i) => ({
    path: file,
    text,
    isRuleFile: text !== undefined,
    notes: i === 0 ? notes : [],
  }));
}

function textOf(path: string): string | undefined {
  try {
    return readText(path);
  } catch (error) {
    if (error instanceof FileError) return undefined;
    throw error;
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
