/** Reads the rate limit files of a gateway. */
import { ConfigError } from '../../config/config-error.ts';
import { answerAs, runElsewhere } from '../../config/in-thread.ts';
import { compileRules } from './compile.ts';
import type { RuleFile, Rules } from './rule.ts';
import { readRuleFiles } from './rule-files.ts';

export interface RulePlace {
  /** A file, or a folder with files. */
  readonly path: string;
  readonly mergeDomains: boolean;
}

/** Plain data: what one thread has read for another. */
type ReadValues =
  | { readonly mistakes: readonly string[] }
  | { readonly values: readonly Pick<RuleFile, 'name' | 'value'>[] };

/** Throws a ConfigError with every mistake of all files. */
export function readRules(place: RulePlace): Rules {
  return compileRules(filesAt(place), place);
}

/** Values without mistakes, or all mistakes with their lines. */
function readValues(place: RulePlace): ReadValues {
  try {
    const files = filesAt(place);
    compileRules(files, place);
    return { values: files.map(({ name, value }) => ({ name, value })) };
  } catch (error) {
    if (error instanceof ConfigError) return { mistakes: error.mistakes };
    throw error;
  }
}

/** Throws a ConfigError if there are mistakes. */
export function rulesOf(read: ReadValues, place: RulePlace): Rules {
  if ('mistakes' in read) throw new ConfigError(read.mistakes);
  return compileRules(read.values, place);
}

function filesAt({ path }: RulePlace): readonly RuleFile[] {
  const { read } = readRuleFiles([path]);
  if (read.length > 0) return read;
  throw new ConfigError([`${path}: the folder has no file with limits, put one there`]);
}

const WORK = 'readRuleValues';

/**
 * Reads in a new thread, because tens of thousands of limits take seconds to parse. Compiling the values is a tenth of
 * the work. Rejects when the files take too long or too much memory to read.
 */
export function readValuesElsewhere(place: RulePlace): Promise<ReadValues> {
  return runElsewhere(new URL(import.meta.url), WORK, place);
}

answerAs(WORK, readValues);
