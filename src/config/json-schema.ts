/** The policy file's JSON Schema, from the schema that loads it. */
import { z } from 'zod';
import { policyFileSchema } from './policy-schema.ts';

export function policyFileJsonSchema(): string {
  const schema = z.toJSONSchema(policyFileSchema, { target: 'draft-7', io: 'input' });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
