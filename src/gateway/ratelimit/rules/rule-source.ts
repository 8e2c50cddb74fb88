import { dirname, join, resolve } from 'node:path';
import { ConfigError } from '../../config/diagnostic.ts';
import {
  areSame,
  type FileVersions,
  isWrittenInPlace,
  versionsOf,
  type Watched,
} from '../../config/file-watch.ts';
import { answerAs, runElsewhere, SMALL_BYTES } from '../../config/in-thread.ts';
import { compileRules } from './compile.ts';
import type { CompiledRules } from './compiled-rules.ts';
import type { RuleFile } from './rule.ts';
import { listRuleFiles, type RuleFileList, readRuleFiles } from './rule-files.ts';

/** How long files must not have changed. A file that is written in place may be half written. */
const REPLACED_MS = 50;
const WRITTEN_IN_PLACE_MS = 2_000;

export interface RuleSource extends Watched {
  /** Throws a ConfigError with every mistake of all files. */
  read(): CompiledRules;
  /** The same, while the gateway answers requests. Rejects with a ConfigError. */
  readAgain(): Promise<CompiledRules>;
}

export function ruleSource(place: RulePlace): RuleSource {
  let known: FileVersions = new Map();
  let folders: readonly string[] = [];
  /** Before the files are read: one that changes meanwhile is read again, and a wrong one only once it changes. */
  const look = () => {
    const list = listAt(place.path);
    known = versionsOf(list.files);
    folders = list.folders;
  };
  return {
    get files() {
      // A folder is watched by a file in it, whether or not that exists.
      return [...known.keys(), ...folders.map((folder) => join(folder, 'any'))];
    },
    pending() {
      const now = versionsOf(listAt(place.path).files);
      if (now.size === known.size && areSame(known, now)) return undefined;
      const state = [...now].map(([file, { id }]) => `${file} ${id}`).join('\n');
      const isInPlace = isWrittenInPlace(known, now);
      return { state, settledAfterMs: isInPlace ? WRITTEN_IN_PLACE_MS : REPLACED_MS };
    },
    read() {
      look();
      return compileRules(filesAt(place), place);
    },
    async readAgain() {
      look();
      if (sizeOf(known) <= SMALL_BYTES) return compileRules(filesAt(place), place);
      // Tens of thousands of limits take seconds to parse. Compiling is a tenth of the work.
      const read = await runElsewhere<ReadValues>(new URL(import.meta.url), WORK, place);
      if ('mistakes' in read) throw new ConfigError(read.mistakes);
      return compileRules(read.values, place);
    },
  };
}

/** Where nothing can be listed, the folder of the path is watched. */
function listAt(path: string): Pick<RuleFileList, 'files' | 'folders'> {
  try {
    return listRuleFiles([path]);
  } catch {
    return { files: [], folders: [dirname(resolve(path))] };
  }
}

function sizeOf(versions: FileVersions): number {
  return [...versions.values()].reduce((sum, { size }) => sum + size, 0);
}

export interface RulePlace {
  readonly path: string;
  readonly mergeDomains: boolean;
}

type ReadValues =
  | { readonly mistakes: readonly string[] }
  | { readonly values: readonly Pick<RuleFile, 'name' | 'value'>[] };

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

function filesAt({ path }: RulePlace): readonly RuleFile[] {
  const { read } = readRuleFiles([path]);
  if (read.length > 0) return read;
  throw new ConfigError([`${path}: the folder has no file with limits, put one there`]);
}

const WORK = 'readRuleValues';

answerAs(WORK, readValues);
