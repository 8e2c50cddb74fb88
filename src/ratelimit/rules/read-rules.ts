/** Reads the rate limit files of a gateway, and looks for mistakes. */
import { ConfigError } from '../../config/config-error.ts';
import { compileRules } from './compile.ts';
import type { RuleFile, Rules } from './rule.ts';
import { readRuleFiles } from './rule-files.ts';

export interface RulePlace {
  /** A file, or a folder with files. */
  readonly path: string;
  readonly mergeDomains: boolean;
}

/** Plain data, since another thread may have read it. */
export interface ReadRules {
  readonly files: readonly string[];
  readonly folders: readonly string[];
  readonly found:
    | { readonly mistakes: readonly string[] }
    | { readonly values: readonly Pick<RuleFile, 'name' | 'value'>[] };
}

export function readRules({ path, mergeDomains }: RulePlace): ReadRules {
  const { files, folders, read } = readRuleFiles([path]);
  if (read.length === 0) {
    const mistakes = [`${path}: the folder has no file with limits, put one there`];
    return { files, folders, found: { mistakes } };
  }
  try {
    compileRules(read, { mergeDomains });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { files, folders, found: { mistakes: error.mistakes } };
  }
  return { files, folders, found: { values: read.map(({ name, value }) => ({ name, value })) } };
}

/** Throws a ConfigError if the files had mistakes. */
export function rulesOf({ found }: ReadRules, { mergeDomains }: RulePlace): Rules {
  if ('mistakes' in found) throw new ConfigError(found.mistakes);
  return compileRules(found.values, { mergeDomains });
}
