/** The command line: all commands, and how they print and end. */
import { Command } from 'commander';
import { VERSION } from '../config/version.ts';
import { checkCommand } from './check.ts';
import { clientsCommand } from './clients.ts';
import { demoCommand } from './demo.ts';
import { explainCommand } from './explain.ts';
import { healthcheckCommand } from './healthcheck.ts';
import { keyCommand } from './key.ts';
import { logCommand } from './log.ts';
import { overridesCommand } from './overrides.ts';
import { policiesCommand } from './policies.ts';
import { proxyConfigCommand } from './proxy-config.ts';
import { schemaCommand } from './schema.ts';
import { serveCommand } from './serve.ts';
import { statsCommand } from './stats.ts';
import { addHelp } from './support/help.ts';
import { complain, linesIn, say } from './support/output.ts';
import { reportFailure } from './support/report-failure.ts';

/** Commander repeats what was typed. In a script, that may be text of others, so it is printed with escapes. */
const OUTPUT = {
  writeOut: (text: string) => say(linesIn(text)),
  writeErr: (text: string) => complain(linesIn(text)),
};

export async function run(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync(argv);
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}

/** Its commands throw a CommanderError where commander would end the process. */
export function createProgram(): Command {
  const program = new Command('headgate')
    .description('External-authorization rate-limit gateway')
    .version(VERSION)
    .addCommand(serveCommand(), { isDefault: true })
    .addCommand(demoCommand())
    .addCommand(checkCommand())
    .addCommand(explainCommand())
    .addCommand(clientsCommand())
    .addCommand(policiesCommand())
    .addCommand(overridesCommand())
    .addCommand(logCommand())
    .addCommand(statsCommand())
    .addCommand(proxyConfigCommand())
    .addCommand(keyCommand())
    .addCommand(healthcheckCommand())
    .addCommand(schemaCommand());
  for (const command of everyCommand(program)) {
    command.exitOverride().configureOutput(OUTPUT);
    addHelp(command);
  }
  return program;
}

/** A command and all of its subcommands, at any depth, parents first. */
export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
