/** What metadata says of a client: which of its values are names of users and plans, and how plain objects are read. */
import type { ProxyMetadata } from './check-request.ts';
import { isRecord } from './is-record.ts';
import { WITHOUT_CONTROLS } from './printable.ts';

/** In UTF-8. A longer text is no name. It is not cut, because two users could have the same beginning. */
export const MAX_NAME_BYTES = 1_024;

/**
 * The name that a value is: a text as it is, with its case and its blanks, or a whole number as digits. Undefined for
 * anything else. Fractions and numbers from 2^53 on are no names, because two of them can be the same double (RFC 8259,
 * section 6). Texts with control characters are none either: no header has them, and logs would escape them.
 */
export function nameIn(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  if (typeof value !== 'string' || value === '') return undefined;
  if (value.length > MAX_NAME_BYTES || Buffer.byteLength(value) > MAX_NAME_BYTES) return undefined;
  return value.isWellFormed() && WITHOUT_CONTROLS.test(value) ? value : undefined;
}

/** Metadata as JSON has it, by the namespace. Its values are found as those that a proxy sends. */
export function plainMetadata(namespaces: Readonly<Record<string, unknown>>): ProxyMetadata {
  return {
    text(namespace, path) {
      let value: unknown = namespaces;
      for (const name of [namespace, ...path]) {
        if (!isRecord(value) || !Object.hasOwn(value, name)) return undefined;
        value = value[name];
      }
      if (!Array.isArray(value)) return nameIn(value);
      return value.length === 1 ? nameIn(value[0]) : undefined;
    },
  };
}
