import { hint } from '../closest-word.ts';
import type { DiagnosticDraft } from '../diagnostic.ts';
import { type KeyEntry, keyTwice, repeatedKeys } from './key-list.ts';
import { type AccessList, type IdentitySection, sourceName } from './valid-file.ts';

interface IdentitySections {
  readonly identity: IdentitySection | undefined;
  /** From the policy file or the key file. */
  readonly keys: readonly KeyEntry[] | undefined;
  readonly exempt: AccessList | undefined;
  readonly block: AccessList | undefined;
}

export function* sourceMistakes({
  identity,
}: Pick<IdentitySections, 'identity'>): Generator<DiagnosticDraft> {
  const sources = (identity?.sources ?? []).map(sourceName);
  for (const [index, source] of sources.entries()) {
    const path = ['identity', 'sources', index];
    if (sources.indexOf(source) !== index) {
      const message = `${source} is listed twice, keep the first one`;
      yield { rule: 'source-twice', path, message };
    } else if (sources.slice(0, index).includes('ip')) {
      const message = `${source} is never used, because every request has an ip: put ip last`;
      yield { rule: 'source-never-reached', path, message };
    }
  }
}

export function* keyMistakes({
  identity,
}: Pick<IdentitySections, 'identity'>): Generator<DiagnosticDraft> {
  const keys = identity?.api_key.keys ?? [];
  // A key file is checked when it is read.
  if (typeof keys === 'string') return;
  for (const index of repeatedKeys(keys)) {
    yield keyTwice(['identity', 'api_key', 'keys', index, 'sha256']);
  }
}

export function* listedClientMistakes(
  section: 'exempt' | 'block',
  { identity, keys, ...lists }: IdentitySections,
): Generator<DiagnosticDraft> {
  // Keys with mistakes are unknown.
  if (identity === undefined || keys === undefined) return;
  const ids = new Set(keys.map(({ id }) => id));
  for (const [index, { key }] of (lists[section] ?? []).entries()) {
    if (key === undefined) continue;
    const path = [section, index, 'key'];
    if (!ids.has(key)) {
      const message = `no key with this id is listed${hint(key, [...ids])}`;
      yield { rule: 'key-unknown', path, message };
    } else if (!identity.sources.includes('api_key')) {
      const message = 'no client has an api_key: add api_key to identity.sources';
      yield { rule: 'key-without-source', path, message };
    }
  }
}
