/** `headgate healthcheck`: a probe for container images without a shell, and for services that wait for a start. */
import { Command } from 'commander';
import { commandEnvironment } from '../environment/commands.ts';
import { urlOf } from '../ops-client/gateway-client.ts';
import { EXIT_FAULT } from '../output/exit-codes.ts';
import { complain } from '../output/output.ts';

const TIMEOUT_MS = 2_000;

interface Flags {
  readonly ready?: true;
}

export function healthcheckCommand(): Command {
  return new Command('healthcheck')
    .description(
      'check whether the gateway on this machine is alive: exit code 0 if it is, 1 if not',
    )
    .option('--ready', 'check whether it answers proxies: 1 also while it starts or drains')
    .action(healthcheck);
}

async function healthcheck({ ready }: Flags): Promise<void> {
  const { opsHost, opsPort } = commandEnvironment(process.env);
  const url = `${urlOf(opsHost, opsPort)}/${ready ? 'readyz' : 'livez'}`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.ok) return;
    complain(`headgate: ${url} answered with status ${response.status}`);
  } catch {
    complain(`headgate: ${url} did not answer`);
  }
  process.exitCode = EXIT_FAULT;
}
