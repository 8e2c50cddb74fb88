/** The policy file's JSON Schema, from the schema that loads it. */
import { z } from 'zod';
import { policyFileSchema } from './policy-schema.ts';

export function policyFileJsonSchema(): string {
  const schema = z.toJSONSchema(policyFileSchema, {
    target: 'draft-7',
    io: 'input',
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod;
      // zod leaves out the default of what it transforms. Ours are as files have them.
      if (def.type === 'default') jsonSchema.default = def.defaultValue;
    },
  });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
