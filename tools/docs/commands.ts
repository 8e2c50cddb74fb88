/** docs/commands.md, made from the commands of the program. */
import type { Argument, Command, Option } from 'commander';
import { createProgram, everyCommand } from '../../src/cli/program.ts';
import { EXIT_CODES } from '../../src/cli/support/exit-codes.ts';
import { code, fenced, prose, table } from './markdown.ts';

const HEAD = `# Commands

What \`headgate\` can be told on the command line. In the repository it is \`npm start --\`, as in \`npm start -- check config/policies.yaml\`; in the image, \`node dist/main.js\`.
\`headgate --help\`, and \`--help\` after any command, say the same in short. Without a command, headgate serves.

Settings that every command has come from the environment, see [configuration](configuration.md). An option comes before the setting that it names.
`;

/** What a command alone does not tell of itself. */
const NOTES: Readonly<Record<string, string>> = {
  'headgate serve':
    '[Signals](../README.md#signals) stop it, reload its files and replace its workers.\n',
  'headgate demo': 'Counts in memory, whatever the environment says.\n',
  'headgate check':
    '[What it finds](check.md), rule by rule. Without files, it checks the one that `serve` reads; with `--redis` and no files, Redis only.\n',
  'headgate explain': `Nothing is counted. By a policy file alone, no gateway and no Redis is asked; an answer is what it would be if nothing had been counted before.

${fenced('sh', "headgate explain --method POST --url '/api//auth/LOGIN' -H 'cf-connecting-ip: 203.0.113.9' --peer 173.245.48.5")}`,
  'headgate schema': 'It is [`config/policies.schema.json`](../config/policies.schema.json).\n',
};

export function commandReference(program: Command = createProgram()): string {
  const commands = everyCommand(program).filter((command) => command.parent !== null);
  return [
    HEAD,
    table(
      ['command', 'does'],
      commands.filter(isRun).map((command) => [linkTo(command), prose(command.description())]),
    ),
    ...commands.map(sectionOf),
    '## Exit codes\n',
    table(
      ['code', 'means'],
      Object.entries(EXIT_CODES).map(([number, meaning]) => [code(number), meaning]),
    ),
  ].join('\n');
}

/** Others only have commands below them. */
function isRun({ commands }: Command): boolean {
  return commands.length === 0;
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

function linkTo(command: Command): string {
  const name = nameOf(command);
  return `[${code(name)}](#${name.replaceAll(' ', '-')})`;
}

function sectionOf(command: Command): string {
  const help = command.createHelp();
  const given = help.visibleArguments(command);
  const options = optionsOf(command);
  return [
    `## ${nameOf(command)}\n`,
    `${sentence(command.description())}\n`,
    ...(isRun(command)
      ? [fenced('sh', usageOf(command))]
      : [
          command.commands
            .map((each) => `- ${linkTo(each)}: ${prose(each.description())}\n`)
            .join(''),
        ]),
    ...(given.length === 0
      ? []
      : [
          table(
            ['argument', 'is', 'default'],
            given.map((argument) => [
              code(help.argumentTerm(argument)),
              withChoices(argument),
              defaultOf(argument, argument.required),
            ]),
          ),
        ]),
    ...(options.length === 0
      ? []
      : [
          table(
            ['option', 'is', 'default'],
            options.map((option) => [
              code(option.flags),
              withChoices(option),
              defaultOf(option, option.mandatory),
            ]),
          ),
        ]),
    ...(NOTES[nameOf(command)] === undefined ? [] : [NOTES[nameOf(command)] ?? '']),
  ].join('\n');
}

/** As commander has it, with the options that must be there. */
function usageOf(command: Command): string {
  const help = command.createHelp();
  const options = optionsOf(command);
  const required = options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  const others = options.length > required.length ? ['[options]'] : [];
  return help
    .commandUsage(command)
    .replace('[options]', [...required, ...others].join(' '))
    .trim();
}

function optionsOf(command: Command): Option[] {
  const options = command.createHelp().visibleOptions(command);
  return options.filter(({ long }) => long !== '--help');
}

function withChoices({ description, argChoices }: Option | Argument): string {
  const choices = argChoices?.map(code).join(', ');
  const is = prose(description);
  return choices === undefined ? is : `${is}: ${choices}`;
}

function defaultOf(
  { defaultValue, defaultValueDescription }: Option | Argument,
  isRequired: boolean,
): string {
  if (isRequired) return '**required**';
  // What collects several begins empty.
  if (defaultValue === undefined || Array.isArray(defaultValue)) return '';
  return code(defaultValueDescription ?? String(defaultValue));
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${prose(text.slice(1))}.`;
}
