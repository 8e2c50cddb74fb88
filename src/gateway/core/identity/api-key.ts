/** Reads API keys: those whose digests the policy file or the store lists, and unlisted ones, which anybody can invent. */
import { hash } from 'node:crypto';
import type { CheckRequest } from '../check-request.ts';
import { type AccessLists, type ListEntry, type Listed, NOT_LISTED } from './access-lists.ts';
import {
  hasOuterBlank,
  hasSeveralValues,
  isLoose,
  MAX_VALUE_LENGTH,
  singleValue,
} from './header-value.ts';
import type { KeyDirectory, StoredKey } from './key-directory.ts';
import { type ClaimedIdentity, listedKeyPartition, unlistedKeyPartition } from './partition.ts';

export interface ListedKey {
  /** Identifies the client. Two keys with one id share a quota. */
  readonly id: string;
  readonly sha256: string;
  readonly plan: string | undefined;
}

export interface ApiKey extends ClaimedIdentity {
  /** Undefined for an unlisted key. */
  readonly id: string | undefined;
  readonly plan: string | undefined;
  readonly listed: Listed;
  readonly listedIn: KeySource | undefined;
  /** Milliseconds since the epoch; Infinity for a key without an end. */
  readonly endsMs: number;
}

type KeySource = 'file' | 'store';

export interface ApiKeyConfig {
  readonly apiKeyHeader: string;
  readonly apiKeys: readonly ListedKey[];
  /** The store lists keys, too. The policy file wins. */
  readonly keysInStore: boolean;
  readonly accessLists: AccessLists;
}

export interface ApiKeys {
  /** `nowMs`: milliseconds since the epoch. `stored`: what is known of keys in the store. */
  keyOf(request: CheckRequest, nowMs: number, stored?: KeyDirectory): ApiKey | undefined;
  /** The digests to look up in the store: none if the policy file has the key. */
  unlistedDigests(request: CheckRequest): readonly string[];
}

export function compileApiKeys({
  apiKeyHeader,
  apiKeys,
  accessLists,
  ...config
}: ApiKeyConfig): ApiKeys {
  const inFile = new Map<string, ApiKey>();
  for (const { id, sha256, plan } of apiKeys) {
    inFile.set(Buffer.from(sha256, 'hex').toString('base64url'), {
      ...{ id, plan, listedIn: 'file', endsMs: Number.POSITIVE_INFINITY },
      ...{ partition: listedKeyPartition(id), unverified: false, listed: accessLists.ofKey(id) },
    });
  }
  const { keysInStore } = config;
  const isAuthorization = apiKeyHeader === 'authorization';
  const read = isAuthorization ? bearerToken : singleValue;
  const searchesWords = isAuthorization && (inFile.size > 0 || keysInStore);
  const find = (digest: string, nowMs: number, stored: KeyDirectory | undefined) => {
    const found = inFile.get(digest);
    if (found !== undefined || stored === undefined) return found;
    const record = stored.find(digest);
    return record && nowMs < record.endsMs ? storedKey(record, accessLists) : undefined;
  };
  const firstOf = (keys: readonly string[], nowMs: number, stored: KeyDirectory | undefined) => {
    for (const key of keys) {
      const found = find(digestOf(key), nowMs, stored);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return {
    keyOf({ headers }, nowMs, stored) {
      const key = read(headers, apiKeyHeader);
      if (key === undefined)
        return searchesWords ? firstOf(wordsOf(headers), nowMs, stored) : undefined;
      const digest = digestOf(key);
      return (
        find(digest, nowMs, stored) ??
        firstOf(otherReadings(key), nowMs, stored) ??
        unlisted(digest)
      );
    },
    unlistedDigests({ headers }) {
      const key = read(headers, apiKeyHeader);
      const keys =
        key === undefined ? (searchesWords ? wordsOf(headers) : []) : [key, ...otherReadings(key)];
      const digests = keys.map(digestOf);
      return digests.some((digest) => inFile.has(digest)) ? [] : digests;
    },
  };
}

/** In place of an entry of the policy file. */
const BLOCKED_IN_STORE = {
  address: undefined,
  expiresMs: Number.POSITIVE_INFINITY,
  isInStore: true,
};

export function storedKey(
  { id, plan, partition, isBlocked, endsMs }: StoredKey,
  accessLists: AccessLists,
): ApiKey {
  const ofFile = accessLists.ofKey(id);
  const listed = isBlocked ? withBlock(ofFile, { ...BLOCKED_IN_STORE, key: id }) : ofFile;
  return { id, partition, unverified: false, plan, listed, listedIn: 'store', endsMs };
}

function withBlock({ exempt, all }: Listed, block: ListEntry): Listed {
  return { exempt, block, all: [...all, { list: 'block', entry: block }] };
}

/** No scheme whose token is a key has as many parameters. */
const MAX_WORDS = 8;
const BETWEEN_WORDS = /(?:[\0-"',;\x7f-\xa0]|\btoken=)+/i;

/**
 * What may be a listed key behind another scheme than Bearer, or without one. Many applications do not compare the scheme,
 * and take the second word or the whole value. Only the holder of the key can send it.
 */
function wordsOf(headers: CheckRequest['headers']): readonly string[] {
  const value = Object.hasOwn(headers, 'authorization') ? String(headers.authorization) : '';
  if (value === '' || SEEMS_BEARER.test(value)) return [];
  return value.slice(0, MAX_VALUE_LENGTH).split(BETWEEN_WORDS, MAX_WORDS);
}

/** Envoy sends this character in place of a byte that is not UTF-8, and passes the byte itself to the application. */
const REPLACED = '!';

const NO_READINGS: readonly string[] = [];

/** The key that an application may read if it trims: 85 and A0 are blanks in Latin-1. Only its holder can send it. */
function otherReadings(key: string): readonly string[] {
  let start = 0;
  let end = key.length;
  while (start < end && key[start] === REPLACED) start++;
  while (end > start && key[end - 1] === REPLACED) end--;
  return end - start === key.length ? NO_READINGS : [key.slice(start, end)];
}

const BEYOND_ASCII = /[^\0-\x7f]/;

/** Header values have one character per byte. The policy file lists digests of the bytes. */
function digestOf(key: string): string {
  const bytes = BEYOND_ASCII.test(key) ? Buffer.from(key, 'latin1') : key;
  return hash('sha256', bytes, 'base64url');
}

function unlisted(digest: string): ApiKey {
  const partition = unlistedKeyPartition(digest);
  return {
    id: undefined,
    partition,
    unverified: true,
    plan: undefined,
    listed: NOT_LISTED,
    listedIn: undefined,
    endsMs: Number.POSITIVE_INFINITY,
  };
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
