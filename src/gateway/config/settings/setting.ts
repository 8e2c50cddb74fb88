import { z } from 'zod';

interface Form<T> {
  /** Completes `must be` in error messages. */
  readonly expected: string;
  readonly schema: z.ZodType<T>;
}

/** A value is a T if the variable is set, else an F. */
export interface Setting<T = unknown, F = unknown> extends Form<T> {
  readonly name: string;
  readonly meaning: string;
  /** Another variable, which is read if this one is not set. */
  readonly otherName?: string;
  readonly fallback: F;
  /** Describes the fallback in the reference, if its value does not explain itself. */
  readonly fallbackWords?: string;
  /** Error messages never quote a secret. */
  readonly isSecret?: boolean;
}

export type ReadSetting = <T, F>(setting: Setting<T, F>) => T | F;

type SettingGroup = Readonly<Record<string, Setting>>;

/** The values of a group of settings, under the keys of the group. */
export type ValuesOf<G extends SettingGroup> = {
  readonly [K in keyof G]: G[K] extends Setting<infer T, infer F> ? T | F : never;
};

export function readGroup<G extends SettingGroup>(group: G, read: ReadSetting): ValuesOf<G> {
  const values = Object.entries(group).map(([key, each]) => [key, read(each)]);
  return Object.fromEntries(values);
}

export function setting<T, const F>(
  name: string,
  meaning: string,
  rest: Omit<Setting<T, F>, 'name' | 'meaning'>,
): Setting<T, F> {
  return { name, meaning, ...rest };
}

export function pathSetting(name: string, meaning: string, fallbackWords = 'none') {
  return setting(name, meaning, { ...PATH, fallback: undefined, fallbackWords });
}

export function switchSetting(name: string, meaning: string, fallback: boolean) {
  const fallbackWords = fallback ? '`on`' : '`off`';
  return setting(name, meaning, { ...ON_OR_OFF, fallback, fallbackWords });
}

export const NONE = { fallback: undefined, fallbackWords: 'none' } as const;

export const PATH = text('a path');
export const HOST = text('a host');
export const PORT = wholeNumber('a port', 0, 65_535);
export const PORT_OR_OFF = {
  expected: `${PORT.expected}, or off`,
  schema: z.union([z.literal('off').transform(() => undefined), PORT.schema]),
};

const ON_OR_OFF = {
  expected: 'on or off',
  schema: z.enum(['on', 'off']).transform((value) => value === 'on'),
};

export function text(expected: string) {
  return { expected, schema: z.string() };
}

export function wholeNumber(what: string, min: number, max: number) {
  return {
    expected: `${what} from ${min} to ${max}`,
    schema: z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(min).max(max)),
  };
}
