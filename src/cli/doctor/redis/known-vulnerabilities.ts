/**
 * The list in config/redis-vulnerabilities.json is incomplete: nothing is known about release lines that are not in it.
 * Distributions patch older versions without changing the version number, so a version in the list may be patched.
 */
import { readFileSync } from 'node:fs';

export type Product = 'Redis' | 'Valkey';

interface Vulnerability {
  readonly name: string;
  /** Servers without TLS are not affected. */
  readonly needsTls?: true;
  /** The first patch release with the fix, by release line; null if the line has no fix. */
  readonly fixedIn: Readonly<Partial<Record<Product, Readonly<Record<string, number | null>>>>>;
}

interface VulnerabilityList {
  /** The date of the newest source, as 2026-12-31. */
  readonly updated: string;
  readonly vulnerabilities: readonly Vulnerability[];
}

const LIST_FILE = new URL('../../../../config/redis-vulnerabilities.json', import.meta.url);

let list: VulnerabilityList | undefined;

/** Read on first use, because only an examination needs it. */
export function knownVulnerabilities(): VulnerabilityList {
  list ??= JSON.parse(readFileSync(LIST_FILE, 'utf8')) as VulnerabilityList;
  return list;
}

/** Lists the vulnerabilities of a version, newest first. Returns undefined if none is known. */
export function missingFixes(
  product: Product,
  version: string,
  { tls }: { readonly tls: boolean },
) {
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
  // An upgrade to a later line for these fixes brings the others, too.
  if (neverFixed.length > 0) return { names: neverFixed, fixedIn: undefined };
  return names.length > 0 ? { names, fixedIn: `${line}.${newest}` } : undefined;
}

export function isOlder(version: string, line: readonly [major: number, minor: number]): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < line[0] || (major === line[0] && minor < line[1]);
}
