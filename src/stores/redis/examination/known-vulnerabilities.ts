/**
 * Vulnerabilities of what headgate needs of a server, scripts and TLS, by the first release of each line that has a fix.
 *
 * What a line is not listed with is not known here: nothing is said about it. Distributions fix older versions without
 * another version number, so all that can be said is that one is older.
 */

export type Product = 'Redis' | 'Valkey';

interface Vulnerability {
  readonly name: string;
  /** Only servers that speak TLS have it. */
  readonly needsTls?: true;
  /** The first patch release with the fix, by line; null where none ever had it. */
  readonly fixedIn: Readonly<Partial<Record<Product, Readonly<Record<string, number | null>>>>>;
}

/** Newest first. */
const VULNERABILITIES: readonly Vulnerability[] = [
  {
    // The list of TLS connections with pending data, a use after free, for clients without a password too. The CVE
    // record of 2026-08-27; it does not speak of lines before 8.2.
    name: 'CVE-2026-81934',
    needsTls: true,
    fixedIn: { Redis: { '8.2': 9, '8.4': 6, '8.6': 6, '8.8': 2, '8.10': 1 } },
  },
  {
    // TLS connections and CLIENT KILL, a use after free. GHSA-53mc-f3m3-99vh, release notes of 2026-07-21.
    name: 'CVE-2026-56684',
    needsTls: true,
    fixedIn: { Valkey: { '7.2': 14, '8.0': 10, '8.1': 9, '9.0': 5, '9.1': 1 } },
  },
  {
    // Scripts and replication, a use after free. GHSA-8ghh-qpmp-7826, release notes of 2026-05-05 and 2026-05-06; 6.2
    // does not have it (https://github.com/redis/redis/issues/15231). Valkey 8.0.8 was withdrawn.
    name: 'CVE-2026-23631',
    fixedIn: {
      Redis: { '7.0': null, '7.4': 9, '8.2': 6, '8.4': 3, '8.6': 3 },
      Valkey: { '7.2': 13, '8.0': 9, '8.1': 7, '9.0': 4 },
    },
  },
  {
    // Scripts, a use after free. GHSA-4789-qfc9-5f9q, release notes of 2025-10-03; these releases also fix
    // CVE-2025-46817, CVE-2025-46818 and CVE-2025-46819.
    name: 'CVE-2025-49844',
    fixedIn: {
      Redis: { '6.2': 20, '7.0': null, '7.2': 11, '7.4': 6, '8.0': 4, '8.2': 2 },
      Valkey: { '7.2': 11, '8.0': 6, '8.1': 4 },
    },
  },
  {
    // Scripts, a use after free. GHSA-39h2-x6c4-6w4c, release notes of 2025-01-06.
    name: 'CVE-2024-46981',
    fixedIn: {
      Redis: { '6.2': 17, '7.0': null, '7.2': 7, '7.4': 2 },
      Valkey: { '8.0': 2 },
    },
  },
  {
    // Scripts, a stack overflow of the bit library. GHSA-whxg-wx83-85p5, release notes of 2024-10-01 and 2024-10-02.
    name: 'CVE-2024-31449',
    fixedIn: {
      Redis: { '6.2': 16, '7.0': null, '7.2': 6, '7.4': 1 },
      Valkey: { '7.2': 7, '8.0': 1 },
    },
  },
  {
    // Scripts, a heap overflow of the cjson and cmsgpack libraries. Release notes of 2023-07-10.
    name: 'CVE-2022-24834',
    fixedIn: { Redis: { '6.0': 20, '6.2': 13, '7.0': 12 } },
  },
];

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
  for (const { name, needsTls, fixedIn } of VULNERABILITIES) {
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
