/** Prints the error that ended a command, and chooses the exit code. */
import { inspect } from 'node:util';
import { CommanderError } from 'commander';
import { WorkerFailed } from '../../gateway/app/workers/worker-failed.ts';
import { ConfigError } from '../../gateway/config/config-error.ts';
import { LogError } from '../evidence/reading/log-error.ts';
import { GatewayRefused } from '../ops-client/gateway-refused.ts';
import { CommandFailed } from './command-failed.ts';
import { EXIT_FAULT, EXIT_INVALID_CONFIG, EXIT_USAGE } from './exit-codes.ts';
import { complain, linesIn } from './output.ts';

interface ListenError extends NodeJS.ErrnoException {
  readonly port?: number;
  readonly address?: string;
}

/** Returns the exit code. `command`: the one that failed. */
export async function reportFailure(error: unknown, command = ''): Promise<number> {
  // Commander has printed its own message already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  if (error instanceof ConfigError) {
    const count = error.mistakes.length;
    complain(error.mistakes);
    complain(`headgate: ${count} mistake${count === 1 ? '' : 's'}, nothing was started`);
    return EXIT_INVALID_CONFIG;
  }
  if (error instanceof WorkerFailed) return error.exitCode;
  if (error instanceof LogError) {
    complain(error.problems.map((problem) => `headgate: ${problem}`));
    return EXIT_FAULT;
  }
  if (error instanceof GatewayRefused || error instanceof CommandFailed) {
    complain(`headgate: ${error.message}`);
    return error.exitCode;
  }
  complain((await listenFailure(error as ListenError, command)) ?? linesIn(inspect(error)));
  return EXIT_FAULT;
}

/** Undefined for every other error. */
async function listenFailure(error: ListenError, command: string): Promise<string | undefined> {
  const { code, syscall, port, address } = error;
  const isSocket = port === -1 || port === undefined;
  if (code === 'EADDRINUSE') {
    return isSocket
      ? `headgate: ${address} is taken, choose another path with HEADGATE_LISTEN`
      : `headgate: port ${port} is taken, perhaps by another headgate; stop that, or choose another port with ${await settingOf(port, command)}`;
  }
  if (syscall !== 'listen' && syscall !== 'bind') return undefined;
  const place = isSocket ? address : `${address}:${port}`;
  return `headgate: cannot listen on ${place} (${code}), see HEADGATE_HOST and HEADGATE_LISTEN`;
}

/** The setting that named the port. */
async function settingOf(port: number, command: string): Promise<string> {
  // Loaded only now, because most commands need no settings.
  const { readEnvironment } = await import('../../gateway/config/settings/environment.ts');
  const { dropInFor } = await import('../environment/variables.ts');
  const isDropIn = command === 'ratelimit';
  const environment = readEnvironment(isDropIn ? dropInFor(process.env).variables : process.env);
  if (port === environment.opsPort) return 'HEADGATE_OPS_PORT';
  if (port === environment.rateLimit?.httpPort) return 'HEADGATE_RATELIMIT_HTTP_PORT';
  return port === environment.grpcPort ? 'HEADGATE_GRPC_PORT' : 'HEADGATE_PORT';
}
