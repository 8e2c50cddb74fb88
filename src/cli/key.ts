/** `headgate key new`: an API key, and the entry by which a policy file knows it. */
import { hash, randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { stringify } from 'yaml';
import { keyListSchema } from '../config/policy-file/key-list.ts';
import { say } from './support/output.ts';

/** 256 bits: nobody guesses it, so a plain digest keeps it. The prefix is for scanners that look for leaked secrets. */
const PREFIX = 'hg_';
const KEY_BYTES = 32;

export function keyCommand(): Command {
  return new Command('key')
    .description('API keys')
    .addCommand(
      new Command('new')
        .description('make a key, and print it once with its entry for the policy file')
        .requiredOption('--id <id>', 'the client: several keys may share an id, and a quota')
        .option('--plan <plan>', 'the plan whose limits the client gets')
        .action(makeKey),
    );
}

function makeKey({ id, plan }: { id: string; plan?: string }, command: Command): void {
  const key = PREFIX + randomBytes(KEY_BYTES).toString('base64url');
  const entry = { id, sha256: hash('sha256', key, 'hex'), ...(plan !== undefined && { plan }) };
  const [mistake] = keyListSchema.safeParse([entry]).error?.issues ?? [];
  if (mistake !== undefined)
    command.error(`error: ${String(mistake.path.at(-1))} ${mistake.message}`);
  const line = stringify(entry, { collectionStyle: 'flow', lineWidth: 0 });
  say([
    'The key, which is shown this once:',
    `  ${key}`,
    'Its entry under identity.api_key.keys, or in the file that is named there:',
    `  - ${line.trim()}`,
  ]);
}
