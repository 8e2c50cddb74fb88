/** The routes of the ops API, made from the operations: JSON Schemas for openapi.json and the docs. */
import { z } from 'zod';
import { type Operation, pathFields, placeOfFields } from '../operations/operation.ts';
import { OPERATIONS, type OperationName } from '../operations/operation-table.ts';

export interface OpsRoute {
  readonly method: Operation['method'];
  readonly url: string;
  readonly operation: OperationName;
  readonly summary: string;
  /** JSON Schemas; absent if the operation has no field there. */
  readonly params?: JsonSchema;
  readonly query?: JsonSchema;
  readonly body?: JsonSchema;
  readonly answer: JsonSchema;
}

export interface JsonSchema extends z.core.JSONSchema.BaseSchema {}

export const OPS_ROUTES: readonly OpsRoute[] = Object.entries(OPERATIONS).map(([name, operation]) =>
  routeOf(name as OperationName, operation),
);

function routeOf(name: OperationName, operation: Operation): OpsRoute {
  const { method, path, summary, input, output } = operation;
  const inPath = pathFields(operation);
  const place = placeOfFields(operation);
  const params = partOf(input, (field) => inPath.includes(field));
  const others = partOf(input, (field) => !inPath.includes(field));
  return {
    method,
    url: path,
    operation: name,
    summary,
    ...(params && { params }),
    ...(others && { [place]: others }),
    answer: jsonSchemaOf(output, 'output'),
  };
}

/** The schema of some fields of an input; undefined if there are none. */
function partOf(input: z.ZodObject, isIn: (field: string) => boolean): JsonSchema | undefined {
  const fields = Object.entries(input.shape).filter(([field]) => isIn(field));
  if (fields.length === 0) return undefined;
  return jsonSchemaOf(z.strictObject(Object.fromEntries(fields)), 'input');
}

/** `io`: defaults are optional in an input and always there in an output. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...described } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      // What readers gain nothing from: the range of exact integers, the pattern of a date, that names are strings.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      delete jsonSchema.propertyNames;
    },
  });
  return described;
}
