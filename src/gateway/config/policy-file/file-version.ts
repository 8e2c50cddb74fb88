/** Tells versions of a file apart by what the file system reports, without reading the file. */
import { statSync } from 'node:fs';

/** Plain data, since another thread may have read the file. */
export interface FileVersion {
  /** Changes with the file. */
  readonly id: string;
  /** Changes if another file replaces this one, and not if the file is written in place. */
  readonly inode: string;
  /** Bytes. */
  readonly size: number;
}

/** The key is the path. */
export type FileVersions = ReadonlyMap<string, FileVersion>;

const NONE: FileVersion = { id: 'none', inode: 'none', size: 0 };

export function versionOf(path: string): FileVersion {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(path);
    const inode = `${dev} ${ino}`;
    return { id: [inode, size, mtimeMs, ctimeMs].join(' '), inode, size };
  } catch {
    return NONE;
  }
}

export function versionsOf(paths: Iterable<string>): FileVersions {
  return new Map(Array.from(paths, (path) => [path, versionOf(path)]));
}

export function areSame(one: FileVersions, other: FileVersions): boolean {
  return [...one].every(([path, { id }]) => other.get(path)?.id === id);
}

/** Whether a changed file was not replaced by another one, so that its writer may not have finished. */
export function isWrittenInPlace(before: FileVersions, now: FileVersions): boolean {
  return [...now].some(([path, { id, inode }]) => {
    const old = before.get(path) ?? NONE;
    const isReplaced = ![old.inode, inode].includes(NONE.inode) && old.inode !== inode;
    return old.id !== id && !isReplaced;
  });
}

export function becameShorter(before: FileVersions, now: FileVersions): boolean {
  return [...before].some(([path, { size }]) => (now.get(path)?.size ?? 0) < size);
}
