/** `headgate serve`: the gateway itself. */
import closeWithGrace from 'close-with-grace';
import { Command } from 'commander';
import { createApp, type Listening } from '../app.ts';
import { ConfigError } from '../config/config-error.ts';
import { type Environment, readEnvironment } from '../config/environment.ts';
import { watchFiles } from '../config/file-watch.ts';
import { openPolicySource, type PolicySource } from '../config/policy-source.ts';
import { createTelemetry, type Telemetry } from '../telemetry.ts';

const CLOSE_WITHIN_MS = 10_000;

export function serveCommand(): Command {
  return (
    new Command('serve')
      .description('answer proxies (the default command)')
      .option('--policies <file>', 'policy file (HEADGATE_POLICIES)')
      // The default command also gets the words that are no command.
      .allowExcessArguments()
      .action((flags: ServeFlags, command: Command) => {
        const [word] = command.args;
        if (word !== undefined)
          command.error(`error: unknown command "${word}", see headgate --help`);
        return serve(flags);
      })
  );
}

interface ServeFlags {
  readonly policies?: string;
}

async function serve(flags: ServeFlags): Promise<void> {
  const fromEnvironment = readEnvironment(process.env);
  const environment = { ...fromEnvironment, ...flags };
  const policies = openPolicySource(environment);
  const telemetry = createTelemetry({ level: environment.logLevel, now: Date.now });
  for (const note of policies.notes) telemetry.policyNote(note);
  const app = createApp({ environment, policies, telemetry, now: Date.now });

  const listening = await app.listen().catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  // Only now: it takes over how the process ends, exit code included.
  closeWithGrace(
    { delay: CLOSE_WITHIN_MS, logger: false, skip: ['SIGHUP'] },
    async ({ err, signal }) => {
      if (err) telemetry.log.fatal({ event: 'crashed', err }, 'stopping after a fault');
      else telemetry.log.info({ event: 'stopping', signal }, 'stopping');
      watch.close();
      await app.close();
    },
  );
  const takeUp = () => reload(policies, telemetry);
  const watch = watchFiles(policies, takeUp);
  process.on('SIGHUP', takeUp);
  console.log(banner(environment, policies, listening));
}

/** What is in force stays in force when the file has mistakes. */
function reload(policies: PolicySource, telemetry: Telemetry): void {
  try {
    policies.reload();
    telemetry.policiesLoaded(policies.current.policies.length);
    for (const note of policies.notes) telemetry.policyNote(note);
  } catch (error) {
    // A fault of ours in reading a file must not end what works.
    const mistakes = error instanceof ConfigError ? error.mistakes : [`cannot be read: ${error}`];
    telemetry.policiesRefused(mistakes);
  }
}

function banner(
  environment: Environment,
  policies: PolicySource,
  { check, ops }: Listening,
): string {
  const names = policies.current.policies.map(({ name }) => name).join(', ');
  const where = typeof check === 'string' ? `unix:${check}` : urlOf(check);
  const target = typeof check === 'string' ? `--unix-socket ${check} http://localhost` : where;
  // The secret itself is not repeated here.
  const secret = environment.proxySecrets.length > 0 ? " -H 'x-headgate-secret: ...'" : '';
  return `headgate answers proxies at ${where} and operators at ${urlOf(ops)}
  policies  ${environment.policies} (${names})
  store     ${storeName(environment.redis)}
  try       curl -i -X POST ${target}/envoy/api/auth/login -H 'x-api-key: alice'${secret}`;
}

function storeName(redis: Environment['redis']): string {
  if (redis === undefined)
    return 'memory: counts of this process only, set HEADGATE_REDIS_URL to share them';
  const { kind, addresses, masterName } = redis;
  const places = addresses.map(({ host, port }) => `${host}:${port}`).join(', ');
  if (kind === 'sentinel') return `Redis, the master ${masterName} of the sentinels at ${places}`;
  return kind === 'cluster' ? `Redis Cluster at ${places}` : `Redis at ${places}`;
}

function urlOf({ address, family, port }: Listening['ops']): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
