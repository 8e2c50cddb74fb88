/**
 * Reads the list of vulnerabilities of Redis and Valkey in config/redis-vulnerabilities.json.
 *
 * The list has gaps: of a line that is not in it, nothing is known. Distributions fix older versions without another
 * version number, so all that can be said is that a version is older.
 */
import { readFileSync } from 'node:fs';

export type Product = 'Redis' | 'Valkey';

interface Vulnerability {
  readonly name: string;
  /** Only servers that speak TLS have it. */
  readonly needsTls?: true;
  /** The first patch release with the fix, by line; null where none ever had it. */
  readonly fixedIn: Readonly<Partial<Record<Product, Readonly<Record<string, number | null>>>>>;
}

interface VulnerabilityList {
  /** The day of its newest source, as 2026-12-31. */
  readonly updated: string;
  /** Newest first. */
  readonly vulnerabilities: readonly Vulnerability[];
}

const LIST_FILE = new URL('../../config/redis-vulnerabilities.json', import.meta.url);

let list: VulnerabilityList | undefined;

/** Read when it is first needed: only an examination needs it. */
export function knownVulnerabilities(): VulnerabilityList {
  list ??= JSON.parse(readFileSync(LIST_FILE, 'utf8')) as VulnerabilityList;
  return list;
}

export interface Missing {
  readonly names: readonly string[];
  /** The first release of the line with all of these fixes; undefined when it never had one of them. */
  readonly fixedIn: string | undefined;
}

/** What a version is too old for, newest first; undefined when nothing is known. */
export function missingFixes(
  product: Product,
  version: string,
  { tls }: { readonly tls: boolean },
): Missing | undefined {
  const [major, minor, patch] = version.split('.').map(Number);
  const line = `${major}.${minor}`;
  const names: string[] = [];
  const neverFixed: string[] = [];
  let newest = 0;
  for (const { name, needsTls, fixedIn } of knownVulnerabilities().vulnerabilities) {
    const fixed = fixedIn[product]?.[line];
    if (fixed === undefined || (needsTls && !tls)) continue;
    if (fixed === null) neverFixed.push(name);
    else if ((patch ?? 0) < fixed) {
      names.push(name);
      newest = Math.max(newest, fixed);
    }
  }
  // Whoever leaves the line for them has the others as well.
  if (neverFixed.length > 0) return { names: neverFixed, fixedIn: undefined };
  return names.length > 0 ? { names, fixedIn: `${line}.${newest}` } : undefined;
}

/** True for a version such as `6.0.16` before a line such as 6.2. */
export function isOlder(version: string, line: readonly [major: number, minor: number]): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < line[0] || (major === line[0] && minor < line[1]);
}
