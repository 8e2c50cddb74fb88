/** Holds the rules of files, and reads the files again when they change. */
import { join } from 'node:path';
import {
  areSame,
  type FileVersions,
  isWrittenInPlace,
  versionsOf,
} from '../../config/policy-file/file-version.ts';
import type { Watched } from '../../config/policy-file/file-watch.ts';
import { readRulesElsewhere } from './read-in-thread.ts';
import { type ReadRules, type RulePlace, readRules, rulesOf } from './read-rules.ts';
import type { Rules } from './rule.ts';
import { listRuleFiles } from './rule-files.ts';

/** How long files must not have changed. A file that is written in place may be half written. */
const REPLACED_MS = 50;
const WRITTEN_IN_PLACE_MS = 2_000;

/** Files of this size are parsed in about 20 ms. Starting a thread takes 250 ms of another core. */
const SMALL_BYTES = 8 * 1024;

export interface RuleSource extends Watched {
  /** Throws a ConfigError with every mistake of all files. */
  read(): Rules;
  /** The same, while the gateway answers requests. Rejects with a ConfigError. */
  readAgain(): Promise<Rules>;
}

export function ruleSource(place: RulePlace): RuleSource {
  let known: FileVersions = new Map();
  let folders: readonly string[] = [];
  const versions = () => versionsOf(filesIn(place.path));
  const accept = (read: ReadRules, before: FileVersions): Rules => {
    known = before;
    folders = read.folders;
    return rulesOf(read, place);
  };
  return {
    get files() {
      // A folder is watched by a file in it, whether or not that exists.
      return [...known.keys(), ...folders.map((folder) => join(folder, 'any'))];
    },
    pending() {
      const now = versions();
      if (now.size === known.size && areSame(known, now)) return undefined;
      const state = [...now].map(([file, { id }]) => `${file} ${id}`).join('\n');
      const isInPlace = isWrittenInPlace(known, now);
      return { state, settledAfterMs: isInPlace ? WRITTEN_IN_PLACE_MS : REPLACED_MS };
    },
    read() {
      // Before they are read: a file that changes meanwhile is read again.
      const before = versions();
      return accept(readRules(place), before);
    },
    async readAgain() {
      const before = versions();
      // Also if they cannot be used: they are not tried again before they change.
      known = before;
      const isSmall = sizeOf(before) <= SMALL_BYTES;
      return accept(isSmall ? readRules(place) : await readRulesElsewhere(place), before);
    },
  };
}

function filesIn(path: string): readonly string[] {
  try {
    return listRuleFiles([path]).files;
  } catch {
    return [];
  }
}

function sizeOf(versions: FileVersions): number {
  return [...versions.values()].reduce((sum, { size }) => sum + size, 0);
}
