/** Writes the JSON Schema of test files from the schema that loads them. */
import { jsonSchemaOf } from '../../gateway/config/policy-file/policy-file-schema.ts';
import { testFileSchema } from './test-file-schema.ts';

export function testFileJsonSchema(): string {
  return jsonSchemaOf(testFileSchema);
}
