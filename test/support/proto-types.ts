/** The types of message definitions, and messages made of them. */
import type { Protos } from './grpc-client.ts';

interface Field {
  readonly name: string;
  readonly number: number;
  readonly label: string;
  readonly type: string;
  readonly typeName: string;
}

interface Descriptor {
  readonly name: string;
  readonly field: readonly Field[];
  readonly nestedType: readonly Descriptor[];
  readonly enumType: readonly { value: readonly { name: string; number: number }[] }[];
  readonly options: { readonly mapEntry: boolean } | null;
}

export type Types = ReadonlyMap<string, Descriptor>;

/** By full name, nested types too. */
export function typesOf(protos: Protos): Types {
  const found = new Map<string, Descriptor>();
  const add = (name: string, descriptor: Descriptor) => {
    found.set(name, descriptor);
    for (const nested of descriptor.nestedType) add(`${name}.${nested.name}`, nested);
  };
  for (const [name, { format, type }] of Object.entries(protos)) {
    if (format === 'Protocol Buffer 3 DescriptorProto') add(name, type as Descriptor);
  }
  return found;
}

/** A name is resolved in the message that uses it, then in the scopes around it. */
function fullName(types: Types, usedIn: string, name: string): string {
  for (let scope = usedIn; ; scope = scope.slice(0, Math.max(0, scope.lastIndexOf('.')))) {
    const full = scope === '' ? name : `${scope}.${name}`;
    if (types.has(full)) return full;
    if (scope === '') throw new Error(`no type is called ${name} in ${usedIn}`);
  }
}

function isMessage({ type }: Field): boolean {
  return type === 'TYPE_MESSAGE';
}

/** A message with every field, and with every member of each choice. */
export function everyFieldOf(types: Types, name: string, within: readonly string[] = []): object {
  const filled = (types.get(name)?.field ?? []).flatMap((field) => {
    if (!isMessage(field)) return [[field.name, repeatedAs(field, scalarFor(field))]];
    const below = fullName(types, name, field.typeName);
    if (within.includes(below)) return [];
    const value = everyFieldOf(types, below, [...within, below]);
    if (!types.get(below)?.options?.mapEntry) return [[field.name, repeatedAs(field, value)]];
    const entry = value as { key: string; value?: unknown };
    return [[field.name, { [entry.key]: entry.value ?? {} }]];
  });
  return Object.fromEntries(filled);
}

function repeatedAs<Value>({ label }: Field, value: Value): Value | Value[] {
  return label === 'LABEL_REPEATED' ? [value] : value;
}

function scalarFor({ name, type, number }: Field): string | Buffer | number | boolean {
  if (type === 'TYPE_STRING') return `the ${name}`;
  if (type === 'TYPE_BYTES') return Buffer.from(`the ${name}`);
  return type === 'TYPE_BOOL' ? true : number;
}
