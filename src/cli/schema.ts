/** `headgate schema`: prints the JSON Schema of policy files, for editors. */
import { Command } from 'commander';
import { policyFileJsonSchema } from '../config/policy-file/json-schema.ts';
import { linesIn, say } from './support/output.ts';

export function schemaCommand(): Command {
  return new Command('schema').description('print the JSON Schema of policy files').action(() => {
    say(linesIn(policyFileJsonSchema()));
  });
}
