/** What every converter makes: limits and policies, before they are written as YAML. */
import type { Partition } from '../../../gateway/core/policy.ts';
import type { FilePlace } from '../../proxy-files/file-place.ts';
import type { Finding } from './finding.ts';

export interface RateAmount {
  readonly limit: number;
  readonly windowMs: number;
}

export interface ImportedLimit {
  readonly rate: RateAmount;
  /** Whose requests share it. `ip` is every client, unless the file has other sources. */
  readonly per: Partition;
  /** Set for a token bucket: how many requests pass at one moment. */
  readonly burst?: number | undefined;
}

export interface ImportedMatch {
  readonly methods?: readonly string[] | undefined;
  readonly host?: string | undefined;
  readonly path?: string | undefined;
}

export interface ImportedRules {
  readonly limits: readonly ImportedLimit[];
  readonly mode?: 'shadow' | 'off' | undefined;
  readonly onStoreFailure?: 'deny' | undefined;
  /** Where it comes from: `from limit_req zone=login, site.conf:12`. */
  readonly comments: readonly string[];
}

export interface ImportedPolicy extends ImportedRules {
  /** Any text: the writer makes a valid name of it that no other policy has. */
  readonly name: string;
  readonly match: ImportedMatch;
  readonly place: FilePlace;
}

export interface ExemptEntry {
  readonly address: string;
  readonly comment: string;
}

export interface ImportedFile {
  /** Of the client's identity, before `ip`. */
  readonly sources?: readonly string[];
  readonly apiKeyHeader?: string | undefined;
  /** In addition to `loopback`. */
  readonly trustedProxies?: readonly string[];
  readonly ipv6Prefix?: number | undefined;
  readonly exempt?: readonly ExemptEntry[];
  /** Undefined if requests of no policy are not limited. */
  readonly default?: ImportedRules | undefined;
  readonly policies: readonly ImportedPolicy[];
  readonly findings: readonly Finding[];
  /** How many limits the source has, those that were not carried over too. */
  readonly limitsFound: number;
}
