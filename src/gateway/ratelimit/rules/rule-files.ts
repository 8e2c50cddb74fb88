/**
 * As for envoyproxy/ratelimit, a directory stands for all files in it and below it, except those whose names begin with a dot.
 * Links to directories are not entered: Kubernetes mounts a ConfigMap with links to files too, and each file is read once.
 */
import { type Dirent, readdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { FileError } from '../../config/diagnostic.ts';
import { displayName, readText, unreadable } from '../../config/text-file.ts';
import type { RuleFile } from './rule.ts';
import { readRuleFile } from './rule-file.ts';

export interface RuleFileList {
  /** In the order of the paths given; those of a directory by name. */
  readonly files: readonly string[];
  readonly leftOut: readonly string[];
  /** The directories that were listed, and those of files that were named. A change there may add files. */
  readonly folders: readonly string[];
}

export interface ReadRuleFiles extends RuleFileList {
  /** `compileRules` reports those that cannot be read. */
  readonly read: readonly RuleFile[];
}

/** More files in one directory are a mistake, such as the root of the machine. */
const MAX_FILES = 10_000;
const MAX_DEPTH = 16;

/** Throws a FileError if a path does not exist, or a directory cannot be listed. */
export function listRuleFiles(paths: readonly string[]): RuleFileList {
  const lists = paths.map((path) => listOf(resolve(path)));
  const of = (part: keyof RuleFileList) => [...new Set(lists.flatMap((list) => list[part]))];
  return { files: of('files'), leftOut: of('leftOut'), folders: of('folders') };
}

/** Never throws: a path that cannot be read becomes a file with mistakes. */
export function readRuleFiles(paths: readonly string[]): ReadRuleFiles {
  const list = { files: [] as string[], leftOut: [] as string[], folders: [] as string[] };
  const read: RuleFile[] = [];
  for (const path of paths) {
    try {
      const found = listRuleFiles([path]);
      list.leftOut.push(...found.leftOut);
      list.folders.push(...found.folders);
      for (const file of found.files) {
        if (list.files.includes(file)) continue;
        list.files.push(file);
        read.push(readFile(file));
      }
    } catch (error) {
      list.files.push(resolve(path));
      list.folders.push(dirname(resolve(path)));
      read.push(refused(path, error));
    }
  }
  return { ...list, read };
}

function readFile(path: string): RuleFile {
  try {
    return readRuleFile(displayName(path), readText(path));
  } catch (error) {
    return refused(path, error);
  }
}

function refused(path: string, error: unknown): RuleFile {
  if (!(error instanceof FileError)) throw error;
  return { name: displayName(resolve(path)), value: undefined, mistakes: error.diagnostics };
}

function listOf(path: string): RuleFileList {
  if (!isDirectory(path)) return { files: [path], leftOut: [], folders: [dirname(path)] };
  return listFolder(path);
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // Says why it cannot be read.
    readText(path);
    return false;
  }
}

function listFolder(root: string): RuleFileList {
  const folders: string[] = [];
  const leftOut: string[] = [];
  const found: string[] = [];
  const list = (folder: string, depth: number) => {
    folders.push(folder);
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name);
      if (entry.name.startsWith('.')) continue;
      if (entry.isDirectory() && depth < MAX_DEPTH) list(path, depth + 1);
      else if (isLinkedDirectory(entry, path) || entry.isDirectory()) leftOut.push(path);
      else found.push(path);
      if (found.length > MAX_FILES) {
        const message = `has more than ${MAX_FILES} files, name a directory of rate limit files`;
        throw unreadable(displayName(root), message);
      }
    }
  };
  list(root, 0);
  // Their name of a file: the path with dots.
  const nameOf = (path: string) => relative(root, path).replaceAll(sep, '.');
  const files = shortestPaths(found).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  return { files, leftOut: leftOut.sort(), folders };
}

/** If several paths lead to one file, the shortest counts: it is that of the mount, not of the mounted version. */
function shortestPaths(paths: readonly string[]): string[] {
  const byTarget = new Map<string, string>();
  for (const path of paths) {
    const target = targetOf(path);
    const known = byTarget.get(target);
    if (known === undefined || path.split(sep).length < known.split(sep).length) {
      byTarget.set(target, path);
    }
  }
  return [...byTarget.values()];
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    throw unreadable(displayName(folder), 'cannot be listed, correct its permissions');
  }
}

function isLinkedDirectory(entry: Dirent, path: string): boolean {
  if (!entry.isSymbolicLink()) return false;
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
