/** Patterns of file names, as `include` of NGINX and `import` of Caddy know them. No regular expression is built. */
import { readdirSync, statSync } from 'node:fs';

export function isPattern(path: string): boolean {
  return /[*?[]/.test(path);
}

export function fitsPath(pattern: string, path: string): boolean {
  const patterns = pattern.split('/');
  const names = path.split('/');
  return (
    patterns.length === names.length && patterns.every((each, i) => fitsName(each, names[i] ?? ''))
  );
}

/** Returns absolute paths, sorted. Folders that cannot be read have no files. */
export function filesMatching(pattern: string): string[] {
  let found = [''];
  for (const name of pattern.split('/').slice(1)) {
    found = found.flatMap((folder) =>
      isPattern(name)
        ? namesIn(`${folder}/`)
            .filter((each) => fitsName(name, each))
            .map((each) => `${folder}/${each}`)
        : [`${folder}/${name}`],
    );
  }
  return found.filter(isFile).sort();
}

const PART = /\*|\?|\[[!^]?\]?[^\]]*\]|[\s\S]/g;

/** Compares the name of a file with one part of a pattern, in time of the product of both lengths. */
export function fitsName(pattern: string, name: string): boolean {
  if (name.startsWith('.') && !pattern.startsWith('.')) return false;
  const parts = pattern.match(PART) ?? [];
  let part = 0;
  let at = 0;
  let star = -1;
  let reached = 0;
  while (at < name.length) {
    const current = parts[part];
    if (current === '*') {
      star = part++;
      reached = at;
    } else if (current !== undefined && fitsCharacter(current, name.charAt(at))) {
      part++;
      at++;
    } else if (star !== -1) {
      part = star + 1;
      at = ++reached;
    } else return false;
  }
  return parts.slice(part).every((each) => each === '*');
}

function fitsCharacter(part: string, character: string): boolean {
  if (part === '?') return true;
  if (part.length === 1) return part === character;
  const isOther = /^\[[!^]/.test(part);
  const members = part.slice(isOther ? 2 : 1, -1);
  const ranges = members.match(/[\s\S]-[\s\S]|[\s\S]/g) ?? [];
  const isMember = ranges.some(
    (range) => character >= range.charAt(0) && character <= range.charAt(range.length - 1),
  );
  return isMember !== isOther;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
