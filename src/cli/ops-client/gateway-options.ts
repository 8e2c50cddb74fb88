/** Options and arguments that the commands for running gateways share. */
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { Argument, Command, InvalidArgumentError } from 'commander';
import type { GatewayFlags } from './gateway-client.ts';

export interface ChangeFlags extends GatewayFlags {
  readonly by?: string;
}

export interface OverrideFlags extends ChangeFlags {
  readonly for: string;
  readonly reason: string;
}

export function gatewayCommand(name: string): Command {
  return new Command(name).option(
    '--gateway <url>',
    'ops URL of the gateway (HEADGATE_OPS_HOST, HEADGATE_OPS_PORT: http://127.0.0.1:9464)',
    readUrl,
  );
}

export function changeCommand(name: string): Command {
  return gatewayCommand(name).option(
    '--by <name>',
    'your name, for the audit log (default: your account)',
  );
}

export function overrideCommand(name: string): Command {
  return changeCommand(name)
    .requiredOption('--for <duration>', 'duration: a number and s, min, h or d; at most 31d')
    .requiredOption('--reason <text>', 'reason, for the audit log and headgate overrides');
}

export function clientArgument(): Argument {
  return new Argument(
    '<client>',
    'an address, a client of the log (k.Yx3...), id:ID of a listed key, key:KEY, user:USER, or a decision id; - reads it from standard input',
  );
}

/** The client as typed; `-` reads the first line of standard input, which keeps a key out of the shell history. */
export function readClient(typed: string): string {
  return typed === '-' ? (readFileSync(0, 'utf8').split('\n')[0]?.trim() ?? '') : typed;
}

export function operatorName({ by }: ChangeFlags): string {
  if (by !== undefined) return by;
  try {
    return userInfo().username;
  } catch {
    // In containers, the user may have no name.
    return 'unknown';
  }
}

export function overrideTerms(flags: OverrideFlags) {
  return { for: flags.for, reason: flags.reason, by: operatorName(flags) };
}

export function readUrl(text: string): string {
  const url = URL.parse(text);
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '';
  if (isPlain && /^https?:$/.test(url.protocol)) return url.href.replace(/\/+$/, '');
  throw new InvalidArgumentError(
    'It must be a URL such as http://127.0.0.1:9464, without a user; the token is taken from HEADGATE_ADMIN_TOKEN.',
  );
}
