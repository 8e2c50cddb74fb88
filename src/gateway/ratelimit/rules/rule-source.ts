/** Holds the rules of files, and reads the files again when they change. */
import { dirname, join, resolve } from 'node:path';
import type { Watched } from '../../config/file-watch.ts';
import {
  areSame,
  type FileVersions,
  isWrittenInPlace,
  versionsOf,
} from '../../config/file-watch.ts';
import { SMALL_BYTES } from '../../config/in-thread.ts';
import { type RulePlace, readRules, readValuesElsewhere, rulesOf } from './read-rules.ts';
import type { Rules } from './rule.ts';
import { listRuleFiles, type RuleFileList } from './rule-files.ts';

/** How long files must not have changed. A file that is written in place may be half written. */
const REPLACED_MS = 50;
const WRITTEN_IN_PLACE_MS = 2_000;

export interface RuleSource extends Watched {
  /** Throws a ConfigError with every mistake of all files. */
  read(): Rules;
  /** The same, while the gateway answers requests. Rejects with a ConfigError. */
  readAgain(): Promise<Rules>;
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
      return readRules(place);
    },
    async readAgain() {
      look();
      if (sizeOf(known) <= SMALL_BYTES) return readRules(place);
      return rulesOf(await readValuesElsewhere(place), place);
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
