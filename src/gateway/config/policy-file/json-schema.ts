/** Writes the JSON Schema of policy files from the schema that loads them. */
import { z } from 'zod';
import { policyFileSchema } from './policy-file-schema.ts';

export function policyFileJsonSchema(): string {
  return jsonSchemaOf(policyFileSchema);
}

/** The schema of what an author writes, as the text of a file. */
export function jsonSchemaOf(written: z.ZodType): string {
  const schema = z.toJSONSchema(written, {
    target: 'draft-7',
    io: 'input',
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod;
      // zod leaves out defaults of transformed values. Ours are written as in a file.
      if (def.type === 'default') jsonSchema.default = def.defaultValue;
    },
  });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
