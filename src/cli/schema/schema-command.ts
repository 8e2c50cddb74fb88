import { Argument, Command } from 'commander';
import {
  jsonSchemaOf,
  policyFileJsonSchema,
} from '../../gateway/config/policy-file/policy-file-schema.ts';
import { linesIn, say } from '../output/output.ts';

type Kind = 'policies' | 'tests';

export function schemaCommand(): Command {
  return new Command('schema')
    .description('print the JSON Schema of policy files, or of files that test them')
    .addArgument(
      new Argument('[kind]', 'kind of files').choices(['policies', 'tests']).default('policies'),
    )
    .action(async (kind: Kind) => say(linesIn(await schemaOf(kind))));
}

async function schemaOf(kind: Kind): Promise<string> {
  if (kind === 'policies') return policyFileJsonSchema();
  const { testFileSchema } = await import('../policy-tests/test-file-schema.ts');
  return jsonSchemaOf(testFileSchema);
}
