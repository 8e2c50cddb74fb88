import { Command } from 'commander';
import { stringify } from 'yaml';
import { keyListSchema } from '../../gateway/config/policy-file/key-list.ts';
import { newKey } from '../../gateway/keys/new-key.ts';
import { say } from '../output/output.ts';

export function keyCommand(): Command {
  return new Command('key')
    .description('create API keys for the policy file; headgate keys has those in Redis')
    .addCommand(
      new Command('new')
        .description('create an API key and print it once, with its entry for the policy file')
        .requiredOption('--id <id>', 'id of the client; keys with the same id share a quota')
        .option('--plan <plan>', 'plan whose limits the client gets')
        .action(createKey),
    );
}

function createKey({ id, plan }: { id: string; plan?: string }, command: Command): void {
  const { key, sha256 } = newKey();
  const entry = { id, sha256, ...(plan !== undefined && { plan }) };
  const [mistake] = keyListSchema.safeParse([entry]).error?.issues ?? [];
  if (mistake !== undefined)
    command.error(`error: ${String(mistake.path.at(-1))} ${mistake.message}`);
  const line = stringify(entry, { collectionStyle: 'flow', lineWidth: 0 });
  say([
    'The key. headgate does not show it again:',
    `  ${key}`,
    'Its entry for identity.api_key.keys, or for the key file that is named there:',
    `  - ${line.trim()}`,
  ]);
}
