/** The command line: which command there is, and the exit code of each way it can end. */
import { inspect } from 'node:util';
import { Command, CommanderError } from 'commander';
import { WorkerFailed } from '../app/workers/worker-failed.ts';
import { ConfigError } from '../config/config-error.ts';
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
import { EXIT_FAULT, EXIT_INVALID_CONFIG, EXIT_USAGE } from './support/exit-codes.ts';
import { GatewayRefused } from './support/gateway-refused.ts';
import { addHelp } from './support/help.ts';
import { complain, linesIn, say } from './support/output.ts';

/** Commander repeats what was typed, and a script may have typed what somebody else wrote. */
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

/** Throws where commander would end the process. */
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

/** A command and all below it, however deep, each before those below it. */
export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

interface ListenError extends NodeJS.ErrnoException {
  readonly port?: number;
  readonly address?: string;
}

function reportFailure(error: unknown): number {
  // Commander has printed its own message already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  if (error instanceof ConfigError) {
    const count = error.mistakes.length;
    complain(error.mistakes);
    complain(`headgate: ${count} mistake${count === 1 ? '' : 's'}, nothing was started`);
    return EXIT_INVALID_CONFIG;
  }
  if (error instanceof WorkerFailed) return error.exitCode;
  if (error instanceof GatewayRefused) {
    complain(`headgate: ${error.message}`);
    return error.exitCode;
  }
  const { code, syscall, port, address } = error as ListenError;
  if (code === 'EADDRINUSE') {
    complain(
      port === -1 || port === undefined
        ? `headgate: ${address} is taken, choose another with HEADGATE_LISTEN`
        : `headgate: port ${port} is taken, choose others with HEADGATE_PORT, HEADGATE_GRPC_PORT and HEADGATE_OPS_PORT`,
    );
    return EXIT_FAULT;
  }
  if (syscall === 'listen' || syscall === 'bind') {
    const place = port === -1 || port === undefined ? address : `${address}:${port}`;
    complain(
      `headgate: cannot listen at ${place} (${code}), see HEADGATE_HOST and HEADGATE_LISTEN`,
    );
    return EXIT_FAULT;
  }
  complain(linesIn(inspect(error)));
  return EXIT_FAULT;
}
