/** `headgate doctor`: looks at everything that a working limit needs, and says what to do. */
import { Command, InvalidArgumentError } from 'commander';
import { withOutput } from './support/output.ts';
import type { DoctorFlags } from './support/run-doctor.ts';

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
      .option('--through <url>', 'a URL of the proxy, to ask as a client would', readUrl)
      .option('--redis', 'treat it as an error if no Redis is set (HEADGATE_REDIS_URL)'),
  ).action(async (flags: DoctorFlags) => {
    const { doctor } = await import('./support/run-doctor.ts');
    return doctor(flags);
  });
}

function readUrl(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === '')
    return url;
  throw new InvalidArgumentError('It must be a URL such as http://127.0.0.1:8000/.');
}
