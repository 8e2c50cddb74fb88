/** API keys: the ones that a policy file lists, by their digests, and the ones that anybody can make up. */
import { hash } from 'node:crypto';
import { NO_STANDING, type Standing, type Standings } from './access-lists.ts';
import { type CheckRequest, hasSeveralValues, singleValue } from './check-request.ts';
import { listedKeyPartition, unlistedKeyPartition } from './partition.ts';

export interface ListedKey {
  /** Of the client. Two keys of one client share its quota. */
  readonly id: string;
  /** Of the key, 64 lower-case hexadecimal digits. */
  readonly sha256: string;
  readonly plan: string | undefined;
}

export interface ApiKey {
  readonly partition: string;
  /** True for a key that is not listed. */
  readonly unverified: boolean;
  readonly plan: string | undefined;
  readonly standing: Standing;
}

export interface ApiKeyConfig {
  readonly apiKeyHeader: string;
  readonly apiKeys: readonly ListedKey[];
  readonly standings: Standings;
}

/** A request's key is hashed once: the digest finds the listed ones and names the others. */
export function compileApiKeys({ apiKeyHeader, apiKeys, standings }: ApiKeyConfig) {
  const listed = new Map<string, ApiKey>();
  for (const { id, sha256, plan } of apiKeys) {
    const digest = Buffer.from(sha256, 'hex').toString('base64url');
    const partition = listedKeyPartition(id);
    listed.set(digest, { partition, unverified: false, plan, standing: standings.ofKey(id) });
  }
  const read = apiKeyHeader === 'authorization' ? bearerToken : singleValue;
  return (request: CheckRequest): ApiKey | undefined => {
    const key = read(request.headers, apiKeyHeader);
    if (key === undefined) return undefined;
    const digest = hash('sha256', asBytes(key), 'base64url');
    return listed.get(digest) ?? unlisted(digest);
  };
}

const BEYOND_ASCII = /[^\0-\x7f]/;

/** A header has a character for each byte: the digest that a file lists is of the bytes. */
function asBytes(key: string): string | Buffer {
  return BEYOND_ASCII.test(key) ? Buffer.from(key, 'latin1') : key;
}

function unlisted(digest: string): ApiKey {
  return {
    partition: unlistedKeyPartition(digest),
    unverified: true,
    plan: undefined,
    standing: NO_STANDING,
  };
}

/** The token of `Authorization: Bearer token` (RFC 6750, section 2.1; the scheme in any case, RFC 9110, section 11.1). */
function bearerToken(headers: CheckRequest['headers'], name: string): string | undefined {
  const value = singleValue(headers, name);
  return value === undefined ? undefined : BEARER.exec(value)?.[1];
}

/**
 * Whether an application could find another key in the header than headgate: one of several values, one with blanks
 * around it that some languages drop, or a Bearer token that is not written as it should be. Other schemes of
 * Authorization have commas and blanks of their own.
 */
export function hasAmbiguousKey(headers: CheckRequest['headers'], name: string): boolean {
  const value = Object.hasOwn(headers, name) ? String(headers[name]) : '';
  if (name === 'authorization') return SEEMS_BEARER.test(value) && !BEARER.test(value);
  return hasSeveralValues(headers, name) || hasLooseBlank(value);
}

const SEEMS_BEARER = /(?:^|,)[\s\x80-\xff]*bearer/i;
/** Printable ASCII without a comma. */
const BEARER = /^bearer +([\x21-\x2b\x2d-\x7e]+) *$/i;
/** What `trim` and its like take for blank, as one byte and as UTF-8. */
const LEADING_BLANK =
  /^(?:\xc2?[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8b\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80|\xef\xbb\xbf)/;
const TRAILING_BLANK =
  /(?:[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8b\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80|\xef\xbb\xbf)$/;

function hasLooseBlank(value: string): boolean {
  if (value.includes('\t')) return true;
  // Nearly every key is ASCII.
  if (value.charCodeAt(0) < 0x80 && value.charCodeAt(value.length - 1) < 0x80) return false;
  return LEADING_BLANK.test(value) || TRAILING_BLANK.test(value.slice(-LONGEST_BLANK));
}

/** Bytes. */
const LONGEST_BLANK = 3;
