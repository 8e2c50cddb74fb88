/** Holds the rules of files, and reads the files again when they change. */
import { join } from 'node:path';
import { ConfigError } from '../../config/config-error.ts';
import {
  areSame,
  type FileVersions,
  isWrittenInPlace,
  versionsOf,
} from '../../config/policy-file/file-version.ts';
import type { Watched } from '../../config/policy-file/file-watch.ts';
import { compileRules } from './compile.ts';
import type { Rules } from './rule.ts';
import { listRuleFiles, readRuleFiles } from './rule-files.ts';

/** How long files must not have changed. A file that is written in place may be half written. */
const REPLACED_MS = 50;
const WRITTEN_IN_PLACE_MS = 2_000;

export interface RuleSource extends Watched {
  /** Throws a ConfigError with every mistake of all files. */
  read(): Rules;
}

/** `path` is a file, or a folder with files. */
export function ruleSource(path: string, mergeDomains: boolean): RuleSource {
  let known: FileVersions = new Map();
  let folders: readonly string[] = [];
  const found = () => {
    try {
      return listRuleFiles([path]).files;
    } catch {
      return [];
    }
  };
  return {
    get files() {
      // A folder is watched by a file in it, whether or not that exists.
      return [...known.keys(), ...folders.map((folder) => join(folder, 'any'))];
    },
    pending() {
      const versions = versionsOf(found());
      if (versions.size === known.size && areSame(known, versions)) return undefined;
      const state = [...versions].map(([file, { id }]) => `${file} ${id}`).join('\n');
      const isInPlace = isWrittenInPlace(known, versions);
      return { state, settledAfterMs: isInPlace ? WRITTEN_IN_PLACE_MS : REPLACED_MS };
    },
    read() {
      const list = readRuleFiles([path]);
      // Also if they cannot be used: they are not tried again before they change.
      known = versionsOf(list.files);
      folders = list.folders;
      if (list.read.length === 0) {
        throw new ConfigError([`${path}: the folder has no file with limits, put one there`]);
      }
      return compileRules(list.read, { mergeDomains });
    },
  };
}
