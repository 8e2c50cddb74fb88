/** headgate.1, made from the commands of the program, as docs/commands.md is. */
import type { Argument, Command, Option } from 'commander';
import { EXIT_CODES } from '../../src/cli/output/exit-codes.ts';
import { everyCommand } from '../../src/cli/program.ts';
import { VERSION } from '../../src/gateway/config/shipped-files.ts';

const SETTINGS = `Settings come from environment variables that begin with HEADGATE_. An option takes precedence over the setting that its description names. These are the most important ones:`;

/** The others are in docs/configuration.md. */
const MAIN_SETTINGS: Readonly<Record<string, string>> = {
  HEADGATE_POLICIES: 'path of the policy file',
  HEADGATE_HOST: 'address on which headgate answers proxies; 127.0.0.1 by default',
  HEADGATE_PORT: 'port on which it does; 8080 by default',
  HEADGATE_REDIS_URL:
    'Redis in which gateways share their counters; without it, each counts in memory',
  HEADGATE_PROXY_SECRET: 'secret that proxies must send',
};

/** `date` is that of the release: 2026-12-31. */
export function manPage(program: Command, date: string): string {
  const commands = everyCommand(program).filter(
    ({ parent, commands: below }) => parent !== null && below.length === 0,
  );
  return [
    `.TH HEADGATE 1 "${date}" "headgate ${VERSION}" "User Commands"`,
    '.SH NAME',
    'headgate \\- rate\\-limit gateway for NGINX, Envoy and other proxies',
    '.SH SYNOPSIS',
    '.B headgate',
    '[\\fIcommand\\fR] [\\fIoption\\fR ...]',
    '.SH DESCRIPTION',
    escaped(
      'Your proxy asks headgate about every request before it forwards the request. headgate identifies the client, counts the request against the limits of a policy file, and answers 200 or 429.',
    ),
    '.PP',
    'Without a command, headgate runs',
    '.BR serve .',
    '.SH COMMANDS',
    ...commands.flatMap(sectionOf),
    '.SH ENVIRONMENT',
    escaped(SETTINGS),
    ...Object.entries(MAIN_SETTINGS).flatMap(([name, meaning]) => item(name, meaning)),
    '.SH EXIT STATUS',
    ...Object.entries(EXIT_CODES).flatMap(([code, meaning]) => item(code, plain(meaning))),
    '.SH SEE ALSO',
    escaped(
      'The documentation is installed with the package, in the folder docs, and is at https://github.com/headgate/headgate.',
    ),
    '',
  ].join('\n');
}

function sectionOf(command: Command): string[] {
  const help = command.createHelp();
  const name = nameOf(command);
  const usage = help.commandUsage(command).slice(name.length).replace(/\s+/g, ' ').trim();
  return [
    `.SS ${escaped(name)}`,
    `.B ${escaped(name)}`,
    ...(usage === '' ? [] : [escaped(usage)]),
    '.PP',
    `${escaped(capitalized(command.description()))}.`,
    ...help
      .visibleArguments(command)
      .flatMap((argument) => item(help.argumentTerm(argument), meaningOf(argument))),
    ...help
      .visibleOptions(command)
      .filter(({ long }) => long !== '--help')
      .flatMap((option) => item(option.flags, meaningOf(option, option.mandatory))),
  ];
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

function meaningOf(
  { description, argChoices, defaultValue }: Option | Argument,
  isRequired = false,
): string {
  const choices = argChoices === undefined ? '' : `: ${argChoices.join(', ')}`;
  const isNamed = defaultValue !== undefined && !Array.isArray(defaultValue);
  const byDefault = isNamed ? ` (default: ${defaultValue})` : '';
  return `${description}${choices}${byDefault}${isRequired ? ' (required)' : ''}`;
}

function item(term: string, meaning: string): string[] {
  return ['.TP', `.B ${escaped(term)}`, escaped(meaning)];
}

/** Without marks of Markdown. */
function plain(text: string): string {
  return text.replaceAll('`', '');
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A line that troff shows as it is. */
function escaped(text: string): string {
  const shown = text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  // A line that begins with one of these would be a request. "." after a term ends no sentence.
  return /^[.']/.test(shown) ? `\\&${shown}` : shown;
}
