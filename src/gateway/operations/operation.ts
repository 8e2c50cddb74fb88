/** An operation: something that operators read from or change in a running gateway, described by its schema. */
import type { z } from 'zod';

export interface Operation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Its `:name` segments are fields of the input. */
  readonly path: string;
  readonly summary: string;
  readonly input: Input;
  readonly output: Output;
}

/** What a caller sends; fields with a default may be absent. */
export type CallOf<T extends Operation> = z.input<T['input']>;
/** What the function of the operation receives. */
export type InputOf<T extends Operation> = z.output<T['input']>;
/** What the gateway answers. */
export type OutputOf<T extends Operation> = z.output<T['output']>;

/** The fields of the input that stand in the path. */
export function pathFields({ path }: Operation): readonly string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
}

/** Where all other fields of the input stand. */
export function placeOfFields({ method }: Operation): 'query' | 'body' {
  return method === 'POST' || method === 'PUT' ? 'body' : 'query';
}
