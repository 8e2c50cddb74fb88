import { z } from 'zod';

/** Sections of the reference, in its order. */
export const TOPICS = {
  places: 'Ports and sockets',
  trust: 'Access and secrets',
  policies: 'Files',
  counts: 'Counting',
  process: 'The process',
  rateLimit: "Envoy's rate limit service",
  tracing: 'Traces',
} as const;

/** A value is a T if the variable is set, else an F. */
export interface Setting<T = unknown, F = unknown> {
  readonly name: string;
  /** Another variable, which is read if this one is not set. */
  readonly otherName?: string;
  readonly topic: keyof typeof TOPICS;
  readonly meaning: string;
  /** What a value must be, for error messages. */
  readonly expected: string;
  readonly schema: z.ZodType<T>;
  readonly fallback: F;
  /** Describes the fallback in the reference, if its value does not explain itself. */
  readonly fallbackWords?: string;
  /** Error messages never quote a secret. */
  readonly isSecret?: boolean;
}

export type ReadSetting = <T, F>(setting: Setting<T, F>) => T | F;

export type SettingGroup = Readonly<Record<string, Setting>>;

/** The values of a group of settings, under the keys of the group. */
export type ValuesOf<G extends SettingGroup> = {
  readonly [K in keyof G]: G[K] extends Setting<infer T, infer F> ? T | F : never;
};

export function readGroup<G extends SettingGroup>(group: G, read: ReadSetting): ValuesOf<G> {
  const values = Object.entries(group).map(([key, each]) => [key, read(each)]);
  return Object.fromEntries(values);
}

/** Infers the types of a setting. */
export function setting<T, const F>(described: Setting<T, F>): Setting<T, F> {
  return described;
}

export function pathSetting(
  described: Pick<Setting, 'name' | 'topic' | 'meaning' | 'fallbackWords'>,
) {
  const schema = z.string();
  return setting({
    fallbackWords: 'none',
    ...described,
    expected: 'a path',
    schema,
    fallback: undefined,
  });
}

export function wholeNumber(min: number, max: number) {
  return z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(min).max(max));
}

export const port = wholeNumber(0, 65_535);

export const portOrOff = z.union([z.literal('off').transform(() => undefined), port]);

const onOrOff = z.enum(['on', 'off']).transform((text) => text === 'on');

export function switchSetting({
  fallback,
  ...described
}: Pick<Setting, 'name' | 'topic' | 'meaning'> & { readonly fallback: boolean }) {
  const fallbackWords = fallback ? '`on`' : '`off`';
  return setting({
    ...described,
    expected: 'on or off',
    schema: onOrOff,
    fallback,
    fallbackWords,
  });
}

export const unixSocket = z
  .string()
  .regex(/^unix:./)
  .transform((text) => text.slice('unix:'.length));

/** Characters that every proxy passes on unchanged in a header value. */
export const secretList = z
  .string()
  .regex(/^[!-+\--~]{16,256}(,[!-+\--~]{16,256})*$/)
  .transform((text) => text.split(','));

/** The characters that RFC 6750 allows after `Bearer`. */
export const bearerToken = z
  .string()
  .min(16)
  .max(256)
  .regex(/^[A-Za-z0-9._~+/-]+=*$/);
