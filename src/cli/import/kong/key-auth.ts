/** Finds out in which header clients send their API keys to Kong. */
import { approximate, type Finding, leftOut } from '../shared/finding.ts';
import { isKeyHeader } from '../shared/headers.ts';
import type { Plugin } from './entities.ts';

export interface KeyHeader {
  /** Undefined if the file has no key-auth. */
  readonly header: string | undefined;
  readonly findings: readonly Finding[];
}

/** Of Kong, if key_names is not set. */
const DEFAULT_NAME = 'apikey';
const LIST_KEYS =
  'a policy file has only the SHA-256 of keys. Print entries for identity.api_key.keys with headgate key new. Until then, a key also counts for its address.';

export function keyHeaderOf(plugins: readonly Plugin[]): KeyHeader {
  const [plugin] = plugins.filter(({ name }) => /^key-auth(-enc)?$/.test(name));
  if (plugin === undefined) return { header: undefined, findings: [] };
  const names = plugin.config?.get('key_names')?.texts() ?? [DEFAULT_NAME];
  const header = names.map((name) => name.toLowerCase()).find(isKeyHeader);
  const at = { place: plugin.place, what: `${plugin.name} ${names.join(', ')}` };
  if (header === undefined) {
    const why =
      'headgate reads API keys from headers with letters, digits and "-" in their names. Set identity.api_key.header.';
    return { header: DEFAULT_NAME, findings: [approximate(at.place, at.what, why)] };
  }
  return { header, findings: [leftOut(at.place, at.what, LIST_KEYS)] };
}
