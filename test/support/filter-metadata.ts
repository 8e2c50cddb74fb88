/** Metadata of Envoy's filters as messages have it. */
import { checkRequestBytes, envoyCheckRequest } from './grpc-client.ts';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Namespaces = Readonly<Record<string, { readonly [name: string]: Json }>>;

/** A check as Envoy sends it, with metadata by the namespace. */
export function checkWithMetadata(namespaces: Namespaces, path = '/'): Buffer {
  const { attributes } = envoyCheckRequest({ path });
  const structs = Object.entries(namespaces).map(([name, fields]) => [name, structOf(fields)]);
  const metadata_context = { filter_metadata: Object.fromEntries(structs) };
  return checkRequestBytes({ attributes: { ...attributes, metadata_context } });
}

function structOf(fields: { readonly [name: string]: Json }) {
  const values = Object.entries(fields).map(([name, value]) => [name, wrapped(value)]);
  return { fields: Object.fromEntries(values) };
}

function wrapped(value: Json): object {
  if (value === null) return { nullValue: 0 };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return { numberValue: value };
  if (typeof value === 'string') return { stringValue: value };
  if (Array.isArray(value)) return { listValue: { values: value.map(wrapped) } };
  return { structValue: structOf(value) };
}
