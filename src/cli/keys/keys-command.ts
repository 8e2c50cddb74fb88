/** `headgate keys`: the API keys that the store keeps. */
import { Argument, Command, Option } from 'commander';
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
import {
  addedText,
  changedText,
  listText,
  revokedText,
  rotatedText,
  showText,
} from './key-text.ts';

interface KeyFlags extends ChangeFlags, OutputFlags {
  readonly plan?: string;
  readonly expires?: string;
  readonly comment?: string;
  readonly reason?: string;
  readonly sha256?: string;
}

interface ListFlags extends GatewayFlags, OutputFlags {
  readonly limit: number;
  readonly after?: string;
}

const EXPIRES = 'when the key ends: a duration such as 90d, a date, a time, or never';

export function keysCommand(): Command {
  return new Command('keys')
    .description(
      'list, add, change, rotate, revoke and import the API keys that Redis keeps (keys: redis in the policy file); headgate key makes keys for the policy file',
    )
    .addCommand(
      changeOfKeys('add')
        .description('make an API key and print it once; gateways know it within a second')
        .requiredOption('--id <id>', 'id of the client; keys with the same id share a quota')
        .option('--plan <plan>', 'plan whose limits the client gets')
        .option('--expires <when>', EXPIRES)
        .option('--comment <text>', 'note for operators')
        .option('--another', 'add a key to an id that has one')
        .action(add),
    )
    .addCommand(
      withOutput(gatewayCommand('list'))
        .description('list the keys in the order of their ids')
        .option('--limit <count>', 'maximum number of keys, at most 1000', countUpTo(1_000), 100)
        .option('--after <place>', 'list the page after the one that ended with this')
        .action(list),
    )
    .addCommand(
      withOutput(gatewayCommand('show'))
        .description('show the keys of an id')
        .addArgument(idArgument())
        .action((id: string, flags: GatewayFlags & OutputFlags) =>
          printAnswer(flags, 'showKeys', { input: { id }, linesOf: showText }),
        ),
    )
    .addCommand(changing())
    .addCommand(rotating())
    .addCommand(revoking())
    .addCommand(importing());
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
    .action(rotate);
}

function revoking(): Command {
  return changeOfKeys('revoke')
    .description('remove the keys of an id: they count as unlisted from then on')
    .addArgument(idArgument())
    .addOption(oneKey())
    .action(revoke);
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

async function add({ another = false, ...flags }: KeyFlags & { id: string; another?: boolean }) {
  const { id, plan, expires, comment } = flags;
  const input = { id, plan, expires, comment, another, ...signed(flags) };
  await printAnswer(flags, 'addKey', { input, linesOf: addedText });
}

async function list({ limit: count, after, ...flags }: ListFlags): Promise<void> {
  await printAnswer(flags, 'listKeys', { input: { count, after }, linesOf: listText });
}

type Changes = KeyFlags & { readonly block?: boolean; readonly unblock?: boolean };

async function change(id: string, flags: Changes, command: Command): Promise<void> {
  const { sha256, plan, expires, comment, block, unblock } = flags;
  if (block && unblock) command.error('error: choose one of --block and --unblock');
  const blocked = block ?? (unblock && false);
  const input = { id, sha256, plan, expires, comment, blocked, ...signed(flags) };
  await printAnswer(flags, 'changeKeys', { input, linesOf: changedText });
}

async function rotate(id: string, flags: KeyFlags & { overlap: string }): Promise<void> {
  const { overlap, expires } = flags;
  const input = { id, overlap, expires, ...signed(flags) };
  await printAnswer(flags, 'rotateKey', { input, linesOf: rotatedText });
}

async function revoke(id: string, flags: KeyFlags): Promise<void> {
  const input = { id, sha256: flags.sha256, ...signed(flags) };
  await printAnswer(flags, 'revokeKeys', { input, linesOf: revokedText });
}

function signed(flags: KeyFlags) {
  return { reason: flags.reason, by: operatorName(flags) };
}
