import { WorkerFailed } from '../../gateway/app/workers/messages.ts';
import type { Environment } from '../../gateway/config/settings/environment.ts';
import { CommandFailed } from '../output/command-failed.ts';
import { EXIT_FAULT } from '../output/exit-codes.ts';

interface ListenError extends NodeJS.ErrnoException {
  readonly port?: number;
  readonly address?: string;
}

/** Words failures that are no mistake in the settings, such as a taken port. Returns every other error as it is. */
export function failedStart(error: unknown, environment: Environment): unknown {
  // The worker has printed why it ended.
  if (error instanceof WorkerFailed) return new CommandFailed(error.exitCode, []);
  const { code, syscall, port, address } = error as ListenError;
  const isSocket = port === -1 || port === undefined;
  if (code === 'EADDRINUSE') {
    const why = isSocket
      ? `${address} is taken, choose another path with HEADGATE_LISTEN`
      : `port ${port} is taken, perhaps by another headgate; stop that, or choose another port with ${settingOf(port, environment)}`;
    return new CommandFailed(EXIT_FAULT, why);
  }
  if (syscall !== 'listen' && syscall !== 'bind') return error;
  const place = isSocket ? address : `${address}:${port}`;
  const why = `cannot listen on ${place} (${code}), see HEADGATE_HOST and HEADGATE_LISTEN`;
  return new CommandFailed(EXIT_FAULT, why);
}

function settingOf(port: number, { opsPort, grpcPort, rateLimit }: Environment): string {
  if (port === opsPort) return 'HEADGATE_OPS_PORT';
  if (port === rateLimit?.httpPort) return 'HEADGATE_RATELIMIT_HTTP_PORT';
  return port === grpcPort ? 'HEADGATE_GRPC_PORT' : 'HEADGATE_PORT';
}
