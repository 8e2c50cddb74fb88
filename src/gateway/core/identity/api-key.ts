/** Reads API keys: the ones that the policy file lists by their digests, and unlisted ones, which anybody can invent. */
import { hash } from 'node:crypto';
import type { CheckRequest } from '../check-request.ts';
import { type AccessLists, type Listed, NOT_LISTED } from './access-lists.ts';
import {
  hasOuterBlank,
  hasSeveralValues,
  isLoose,
  MAX_VALUE_LENGTH,
  singleValue,
} from './header-value.ts';
import { type ClaimedIdentity, listedKeyPartition, unlistedKeyPartition } from './partition.ts';

export interface ListedKey {
  /** Identifies the client. Two keys with one id share a quota. */
  readonly id: string;
  readonly sha256: string;
  readonly plan: string | undefined;
}

export interface ApiKey extends ClaimedIdentity {
  readonly plan: string | undefined;
  readonly listed: Listed;
}

export interface ApiKeyConfig {
  readonly apiKeyHeader: string;
  readonly apiKeys: readonly ListedKey[];
  readonly accessLists: AccessLists;
  /** Keys of the store are taken too. */
  readonly keysInStore?: boolean;
}

export function compileApiKeys({ apiKeyHeader, apiKeys, accessLists }: ApiKeyConfig) {
  const listed = new Map<string, ApiKey>();
  for (const { id, sha256, plan } of apiKeys) {
    const digest = Buffer.from(sha256, 'hex').toString('base64url');
    const partition = listedKeyPartition(id);
    listed.set(digest, { partition, unverified: false, plan, listed: accessLists.ofKey(id) });
  }
  const isAuthorization = apiKeyHeader === 'authorization';
  const read = isAuthorization ? bearerToken : singleValue;
  return ({ headers }: CheckRequest): ApiKey | undefined => {
    const key = read(headers, apiKeyHeader);
    if (key === undefined) return isAuthorization ? listedWord(headers, listed) : undefined;
    const digest = digestOf(key);
    const found = listed.get(digest);
    if (found !== undefined) return found;
    const inner = withoutReplaced(key);
    return (inner === key ? undefined : listed.get(digestOf(inner))) ?? unlisted(digest);
  };
}

/** No scheme whose token is a key has as many parameters. */
const MAX_WORDS = 8;
const BETWEEN_WORDS = /(?:[\0-"',;\x7f-\xa0]|\btoken=)+/i;

/**
 * A listed key behind another scheme than Bearer, or without one. Many applications do not compare the scheme, and take
 * the second word or the whole value. Only the holder of the key can send it.
 */
function listedWord(
  headers: CheckRequest['headers'],
  listed: ReadonlyMap<string, ApiKey>,
): ApiKey | undefined {
  const value = Object.hasOwn(headers, 'authorization') ? String(headers.authorization) : '';
  if (value === '' || listed.size === 0 || SEEMS_BEARER.test(value)) return undefined;
  for (const word of value.slice(0, MAX_VALUE_LENGTH).split(BETWEEN_WORDS, MAX_WORDS)) {
    const found = listed.get(digestOf(word));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Envoy sends this character in place of a byte that is not UTF-8, and passes the byte itself to the application. */
const REPLACED = '!';

/** The key that an application may read if it trims: 85 and A0 are blanks in Latin-1. Only its holder can send it. */
function withoutReplaced(key: string): string {
  let start = 0;
  let end = key.length;
  while (start < end && key[start] === REPLACED) start++;
  while (end > start && key[end - 1] === REPLACED) end--;
  return key.slice(start, end);
}

const BEYOND_ASCII = /[^\0-\x7f]/;

/** Header values have one character per byte. The policy file lists digests of the bytes. */
function digestOf(key: string): string {
  const bytes = BEYOND_ASCII.test(key) ? Buffer.from(key, 'latin1') : key;
  return hash('sha256', bytes, 'base64url');
}

function unlisted(digest: string): ApiKey {
  const partition = unlistedKeyPartition(digest);
  return { partition, unverified: true, plan: undefined, listed: NOT_LISTED };
}

/** The token of `Authorization: Bearer token` (RFC 6750, section 2.1). The scheme is case-insensitive (RFC 9110, section 11.1). */
function bearerToken(headers: CheckRequest['headers'], name: string): string | undefined {
  const value = singleValue(headers, name);
  return value === undefined ? undefined : BEARER.exec(value)?.[1];
}

/**
 * Whether an application could read another key from the header than headgate does. The header has several values, a
 * value that is too long, or blanks that some languages trim, or a Bearer token with invalid syntax. Other Authorization
 * schemes may be long and contain commas and blanks.
 */
export function hasAmbiguousKey(headers: CheckRequest['headers'], name: string): boolean {
  const value = Object.hasOwn(headers, name) ? String(headers[name]) : '';
  if (name === 'authorization')
    return !isBearer(value) && (SEEMS_BEARER.test(value) || hasOuterBlank(value));
  return hasSeveralValues(headers, name) || isLoose(headers, name) || value.includes('\t');
}

/**
 * Matches the scheme after blanks, or after what Envoy sends in their place; and anywhere with a blank behind it, because
 * many applications search for `Bearer ` in the value (Laravel).
 */
const SEEMS_BEARER = /(?:^|,)[\0-!\x7f-\xff]*bearer|bearer[\0-\x20\x7f-\xff]/i;
/** Printable ASCII without what Rails removes from a token: a comma, a semicolon, quotes, `token=` before it. */
const BEARER = /^bearer +((?!token=)[\x21\x23-\x2b\x2d-\x3a\x3c-\x7e]+) *$/i;

function isBearer(value: string): boolean {
  return value.length <= MAX_VALUE_LENGTH && BEARER.test(value);
}

interface ListedClient {
  readonly id: string;
  /** Undefined if the keys of this client have no plan, or different ones. */
  readonly plan: string | undefined;
}

/** The clients of listed keys by their partitions, so that operators see the ids that they wrote in the policy file. */
export type ListedClients = ReadonlyMap<string, ListedClient>;

export function compileListedClients(keys: readonly ListedKey[]): ListedClients {
  const byId = new Map<string, ListedClient>();
  for (const { id, plan } of keys) {
    const known = byId.get(id);
    byId.set(id, { id, plan: known === undefined || known.plan === plan ? plan : undefined });
  }
  return new Map([...byId.values()].map((client) => [listedKeyPartition(client.id), client]));
}
