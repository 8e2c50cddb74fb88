import { Command, InvalidArgumentError } from 'commander';
import { EXIT_USAGE } from '../output/exit-codes.ts';
import { withOutput } from '../output/output.ts';
import type { DoctorFlags } from './run-doctor.ts';

export function doctorCommand(): Command {
  return withOutput(
    new Command('doctor')
      .description('examine settings, files, ports, Redis and what clients see; say what to do')
      .option('--policies <file>', 'policy file (HEADGATE_POLICIES)')
      .option(
        '--proxy-file <file>',
        'a file of the proxy with the files that it includes, to compare with the policy file; - is standard input, as from nginx -T; repeatable',
        (file: string, before: readonly string[]) => [...before, file],
        [] as readonly string[],
      )
      .option(
        '--through <url>',
        'a URL of the proxy, to ask as a client would; http://user:password@host/ for HTTP Basic authentication',
        readUrl,
      )
      .option('--host <name>', 'with --through, the name of another site of the proxy', readHost)
      .option('--redis', 'treat it as an error if no Redis is set (HEADGATE_REDIS_URL)'),
  ).action(async (flags: DoctorFlags, command: Command) => {
    if (flags.host !== undefined && flags.through === undefined)
      command.error('error: --host needs --through', { exitCode: EXIT_USAGE });
    const { doctor } = await import('./run-doctor.ts');
    return doctor(flags);
  });
}

function readUrl(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && isDecodable(url)) return url;
  throw new InvalidArgumentError('It must be a URL such as http://127.0.0.1:8000/.');
}

function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

function readHost(text: string): string {
  if (/^(\[[0-9a-f:.]+\]|[\w.-]+)(:\d+)?$/i.test(text)) return text;
  throw new InvalidArgumentError('It must be the name of a host, such as shop.example.');
}
