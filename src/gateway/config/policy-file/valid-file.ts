/** What a valid policy file says. It is plain data, since another thread may have read it. */
import type { z } from 'zod';
import type { ListEntry } from '../../core/identity/access-lists.ts';
import { MCP_HEADERS, MCP_METHOD, MCP_VERSION } from '../../core/mcp/mcp-call.ts';
import type { StoreFailureMode } from '../../core/policy.ts';
import type { Path } from '../diagnostic.ts';
import type { accessSchema } from './access-schema.ts';
import { afterwardsOf } from './afterwards-schema.ts';
import type { answersSchema } from './answers-schema.ts';
import type { identitySchema, PrefixFactor } from './identity-schema.ts';
import type { KeyEntry } from './key-list.ts';
import type { limits } from './limit-schema.ts';
import type { defaultSchema, policySchema } from './policy-file-schema.ts';

export type IdentitySection = z.output<typeof identitySchema>;
/** Entries have their places once the whole file is valid. */
export type AccessEntry = z.output<typeof accessSchema>[number] & Pick<ListEntry, 'place'>;
export type AccessList = readonly AccessEntry[];

export interface ValidFile {
  readonly identity: IdentitySection;
  readonly keys: readonly KeyEntry[];
  readonly answers: z.output<typeof answersSchema>;
  readonly exempt: AccessList;
  readonly block: AccessList;
  readonly caseSensitive: boolean;
  readonly failureMode: StoreFailureMode;
  readonly fallback: DefaultEntry;
  readonly entries: readonly PolicyEntry[];
}

export type LimitEntry = z.output<typeof limits>[number];

type LimitedEntry = Pick<DefaultEntry, 'limits' | 'plans'>;

/** `at` is the path of the policy. */
export function limitLists(
  { limits, plans }: LimitedEntry,
  at: Path,
): { readonly limits: readonly LimitEntry[]; readonly path: Path }[] {
  return [
    { limits, path: [...at, 'limits'] },
    ...Object.entries(plans).map(([plan, written]) => ({
      limits: written,
      path: [...at, 'plans', plan],
    })),
  ];
}

export function allLimits({ limits, plans }: LimitedEntry): LimitEntry[] {
  return [limits, ...Object.values(plans)].flat();
}

/** Whether some limit needs the outcome of requests. */
export function chargesAfterwards(entry: LimitedEntry): boolean {
  return allLimits(entry).some((limit) => afterwardsOf(limit) !== undefined);
}

/** The headers by whose values limits count. */
export function countedHeadersOf(entries: readonly LimitedEntry[]): string[] {
  const kinds = entries.flatMap(allLimits).map(({ per }) => per);
  return kinds.flatMap((per) => (per.startsWith('header:') ? per.slice('header:'.length) : []));
}

/** The headers by which limits say what a request reserves. */
export function reserveHeadersOf(entries: readonly LimitedEntry[]): string[] {
  const reserves = entries.flatMap(allLimits).map(({ reserve }) => reserve);
  return reserves.flatMap((each) =>
    typeof each === 'object' && 'header' in each ? [each.header] : [],
  );
}

/** The headers of MCP calls that policies match by; none without such policies. */
export function mcpHeadersOf(entries: readonly Pick<PolicyEntry, 'match'>[]): string[] {
  const calls = entries.flatMap(({ match }) => match?.mcp ?? []);
  if (calls.length === 0) return [];
  const readsNames = calls.some(({ name }) => name !== undefined);
  return readsNames ? [...MCP_HEADERS] : [MCP_METHOD, MCP_VERSION];
}

/** The keys that stand in the file itself. */
export function inlineKeys({ api_key: { keys } }: IdentitySection): readonly KeyEntry[] {
  return typeof keys === 'string' ? [] : keys.filter((each) => typeof each === 'object');
}

/** Where else keys are listed: in a file of this name, and in the store. */
export function keySources({ api_key: { keys } }: IdentitySection) {
  const names: readonly unknown[] = typeof keys === 'string' ? [keys] : keys;
  const file = names.find((name) => typeof name === 'string' && name !== 'redis');
  return { file: file as string | undefined, inStore: names.includes('redis') };
}

export type PolicyEntry = z.output<typeof policySchema>;
export type DefaultEntry = z.output<typeof defaultSchema>;

export interface PlacedEntry {
  readonly entry: DefaultEntry;
  readonly at: Path;
}

export function everyEntry({ fallback, entries }: ValidFile): PlacedEntry[] {
  return [
    { entry: fallback, at: ['default'] },
    ...entries.map((entry, index) => ({ entry, at: ['policies', index] })),
  ];
}

/** Narrowest network first. The first has a factor of 1. */
export function prefixesOf({ ip }: IdentitySection): readonly PrefixFactor[] {
  return ip.ipv6_prefixes ?? [{ prefixBits: ip.ipv6_prefix ?? 64, factor: 1 }];
}

/** The name of a source in the file, in logs and metrics. An address header has the name of the header. */
export function sourceName(source: IdentitySection['sources'][number]): string {
  return typeof source === 'string' ? source : source.header.replaceAll('-', '_');
}

/** The sections of a file. Sections with mistakes are undefined. */
export type Sections = {
  readonly [Section in 'identity' | 'keys' | 'exempt' | 'block' | 'fallback']:
    | ValidFile[Section]
    | undefined;
} & {
  readonly entries: readonly (PolicyEntry | undefined)[];
  /** The names of all entries, including entries with mistakes. */
  readonly names: readonly unknown[];
  readonly caseSensitive: boolean;
};
