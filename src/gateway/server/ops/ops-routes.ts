/** The routes of the ops API, made from the operations: JSON Schemas for openapi.json and the docs. */
import { z } from 'zod';
import { type Operation, pathFields, placeOfFields } from '../../operations/operation.ts';
import { OPERATIONS, type OperationName } from '../../operations/operation-table.ts';

export type OpsRoute = ReturnType<typeof routeOf>;

export interface JsonSchema extends z.core.JSONSchema.BaseSchema {}

export const OPS_ROUTES: readonly OpsRoute[] = Object.entries(OPERATIONS).map(([name, operation]) =>
  routeOf(name as OperationName, operation),
);

function routeOf(name: OperationName, operation: Operation) {
  const { method, path, summary } = operation;
  let made: ReturnType<typeof schemasOf> | undefined;
  return {
    method,
    url: path,
    operation: name,
    summary,
    // They are made when they are first read: most gateways need none, and all of them take 15 ms.
    schemas() {
      made ??= schemasOf(operation);
      return made;
    },
  };
}

function schemasOf(operation: Operation) {
  const { input, output } = operation;
  const inPath = pathFields(operation);
  const place = placeOfFields(operation);
  const others = partOf(input, (field) => !inPath.includes(field));
  return {
    params: partOf(input, (field) => inPath.includes(field)),
    query: place === 'query' ? others : undefined,
    body: place === 'body' ? others && { ...others, ...alternatives(input) } : undefined,
    answer: jsonSchemaOf(output, 'output'),
  };
}

function partOf(input: z.ZodObject, isIn: (field: string) => boolean): JsonSchema | undefined {
  const fields = Object.entries(input.shape).filter(([field]) => isIn(field));
  if (fields.length === 0) return undefined;
  return jsonSchemaOf(z.strictObject(Object.fromEntries(fields)), 'input');
}

/** Which fields of an input must be there, if an input without one of several is of no use. */
function alternatives(input: z.ZodObject) {
  const { anyOf } = (input.meta() ?? {}) as Pick<JsonSchema, 'anyOf'>;
  return anyOf && { anyOf };
}

/** `io`: defaults are optional in an input and always there in an output. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...described } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      // What readers gain nothing from: the range of exact integers, the pattern of a date, that names are strings.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      const { propertyNames: names } = jsonSchema;
      if (typeof names !== 'object' || names.pattern === undefined) delete jsonSchema.propertyNames;
    },
  });
  return described;
}
