/** Which version of a file is there: by what the file system says, without reading it. */
import { statSync } from 'node:fs';

/** Plain data: it may come from another thread. */
export interface FileVersion {
  /** Changes with the file. */
  readonly id: string;
  /** Changes when another file takes its place; writing into the file keeps it. */
  readonly inode: string;
  /** Bytes. */
  readonly size: number;
}

/** By path. */
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

/** Whether somebody may still be writing: of what changed, not everything is another file than before. */
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
