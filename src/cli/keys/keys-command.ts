/** `headgate keys`: the API keys that the store keeps. */
import { Argument, Command, Option } from 'commander';
import type { Call } from '../../gateway/operations/operation-table.ts';
import { type GatewayFlags, printAnswer } from '../ops-client/gateway-client.ts';
import {
  type ChangeFlags,
  changeCommand,
  gatewayCommand,
  operatorName,
} from '../ops-client/gateway-options.ts';
import { countUpTo } from '../output/numbers.ts';
import { type OutputFlags, withOutput } from '../output/output.ts';
import { importKeys } from './import-keys.ts';
import { addedText, changedText, listText, revokedText, rotatedText } from './key-text.ts';

type KeyFlags = ChangeFlags & OutputFlags;

const EXPIRES = 'when the key ends: a duration such as 90d, a date, a time, or never';

export function keysCommand(): Command {
  return new Command('keys')
    .description(
      'list, add, change, rotate, revoke and import the API keys that Redis keeps (keys: redis in the policy file); headgate key makes keys for the policy file',
    )
    .addCommand(adding())
    .addCommand(listing())
    .addCommand(showing())
    .addCommand(changing())
    .addCommand(rotating())
    .addCommand(revoking())
    .addCommand(importing());
}

function adding(): Command {
  return changeOfKeys('add')
    .description('make an API key and print it once; gateways know it within a second')
    .requiredOption('--id <id>', 'id of the client; keys with the same id share a quota')
    .option('--plan <plan>', 'plan whose limits the client gets')
    .option('--expires <when>', EXPIRES)
    .option('--comment <text>', 'note for operators')
    .option('--another', 'add a key to an id that has one')
    .action((flags: KeyFlags & Call<'addKey'>) =>
      printAnswer(flags, 'addKey', { input: fieldsOf(flags), linesOf: addedText }),
    );
}

function listing(): Command {
  return withOutput(gatewayCommand('list'))
    .description('list the keys in the order of their ids')
    .option('--limit <count>', 'maximum number of keys, at most 1000', countUpTo(1_000), 100)
    .option('--after <place>', 'list the page after the one that ended with this')
    .action(({ limit, after, ...flags }: KeyFlags & { limit: number; after?: string }) =>
      printAnswer(flags, 'listKeys', { input: { count: limit, after }, linesOf: listText }),
    );
}

function showing(): Command {
  return withOutput(gatewayCommand('show'))
    .description('show the keys of an id')
    .addArgument(idArgument())
    .action((id: string, flags: GatewayFlags & OutputFlags) =>
      printAnswer(flags, 'listKeys', { input: { id }, linesOf: listText }),
    );
}

function changing(): Command {
  return changeOfKeys('change')
    .description('change the plan, the end or the comment of the keys of an id; block them')
    .addArgument(idArgument())
    .addOption(oneKey())
    .option('--plan <plan>', "new plan; '' for none")
    .option('--expires <when>', EXPIRES)
    .option('--comment <text>', "new note for operators; '' for none")
    .option('--block', 'refuse every request with the key')
    .option('--unblock', 'end that')
    .action(change);
}

function rotating(): Command {
  return changeOfKeys('rotate')
    .description('make a new key for an id, with the same plan; the others end after a while')
    .addArgument(idArgument())
    .option('--overlap <duration>', 'how long the others remain valid; 0 ends them now', '24h')
    .option('--expires <when>', `${EXPIRES} (default: as the newest key)`)
    .action((id: string, flags: KeyFlags) =>
      printAnswer(flags, 'rotateKey', { input: { id, ...fieldsOf(flags) }, linesOf: rotatedText }),
    );
}

function revoking(): Command {
  return changeOfKeys('revoke')
    .description('remove the keys of an id: they count as unlisted from then on')
    .addArgument(idArgument())
    .addOption(oneKey())
    .action((id: string, flags: KeyFlags) =>
      printAnswer(flags, 'revokeKeys', { input: { id, ...fieldsOf(flags) }, linesOf: revokedText }),
    );
}

function importing(): Command {
  return changeOfKeys('import')
    .description('copy keys from a database, by their digests; running it again is safe')
    .argument(
      '<file>',
      'lines of JSON: {"id": ..., "sha256": ..., "plan": ...}; - reads standard input',
    )
    .action(importKeys);
}

function changeOfKeys(name: string): Command {
  return withOutput(changeCommand(name)).option('--reason <text>', 'reason, for the audit log');
}

function idArgument(): Argument {
  return new Argument('<id>', 'id of the client');
}

function oneKey(): Option {
  return new Option('--sha256 <digits>', 'only the key whose SHA-256 begins with these digits');
}

type Changes = KeyFlags & { readonly block?: boolean; readonly unblock?: boolean };

async function change(id: string, { block, unblock, ...flags }: Changes, command: Command) {
  if (block && unblock) command.error('error: choose one of --block and --unblock');
  const blocked = block ?? (unblock && false);
  const input = { id, blocked, ...fieldsOf(flags) };
  await printAnswer(flags, 'changeKeys', { input, linesOf: changedText });
}

/** The options of a change have the names of the fields that operations take. */
function fieldsOf<Flags extends KeyFlags>(flags: Flags) {
  const { gateway: _place, output: _format, ...fields } = flags;
  return { ...fields, by: operatorName(flags) };
}
