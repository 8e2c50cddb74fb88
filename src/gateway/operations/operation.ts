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

export function pathFields({ path }: Operation): readonly string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
}

export function placeOfFields({ method }: Operation): 'query' | 'body' {
  return method === 'POST' || method === 'PUT' ? 'body' : 'query';
}
