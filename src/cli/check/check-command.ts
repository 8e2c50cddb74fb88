import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { ConfigError } from '../../gateway/config/diagnostic.ts';
import type { Environment } from '../../gateway/config/settings/environment.ts';
import { readText } from '../../gateway/config/text-file.ts';
import { commandEnvironment } from '../environment/commands.ts';
import {
  countOf,
  DIAGNOSTIC_FORMS,
  type DiagnosticForm,
  type ExaminedFile,
} from '../output/diagnostics.ts';
import { EXIT_FAULT, EXIT_INVALID_CONFIG } from '../output/exit-codes.ts';
import { complain, linesIn, say } from '../output/output.ts';
import { examinePolicies } from './advice/examine-policies.ts';
import { checkDocument } from './advice/rules-document.ts';
import { checkFiles as examineFiles, STANDARD_INPUT } from './check-files.ts';

const NO_REDIS =
  'HEADGATE_REDIS_URL: is not set, and REDIS_URL is not set either; --redis examines the Redis that they name';

interface CheckFlags {
  readonly output: DiagnosticForm;
  readonly strict?: boolean;
  readonly mergeDomains?: boolean;
  readonly redis?: boolean;
  readonly rules?: boolean;
}

export function checkCommand(): Command {
  return new Command('check')
    .description('check policy files, and rate limit files of envoyproxy/ratelimit')
    .argument(
      '[files...]',
      'policy files, rate limit files, or directories of these; - is standard input (default: those that serve reads, HEADGATE_POLICIES and HEADGATE_RATELIMIT_CONFIG)',
    )
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(Object.keys(DIAGNOSTIC_FORMS))
        .default('text'),
    )
    .option('--strict', 'treat warnings as errors')
    .option(
      '--merge-domains',
      'rate limit files may share a domain, as with MERGE_DOMAIN_CONFIG of envoyproxy/ratelimit',
    )
    .option('--redis', 'also check that gateways can count in Redis (HEADGATE_REDIS_URL)')
    .option('--rules', 'print the list of rules, in Markdown')
    .action(check);
}

async function check(files: readonly string[], flags: CheckFlags, command: Command): Promise<void> {
  const { output, redis = false } = flags;
  if (flags.rules === true) {
    say(linesIn(checkDocument()));
    return;
  }
  if (redis && output !== 'text')
    command.error(`error: --redis has only text output, not ${output}`);
  const environment = commandEnvironment(process.env);
  const { policies, rateLimit } = environment;
  const served = [policies, ...(rateLimit?.config === undefined ? [] : [rateLimit.config])];
  const named = files.length > 0 || redis ? files : served;
  const examined = named.length > 0 ? await checkFiles(named, flags, environment) : [];
  if (redis) await checkRedis(environment, examined);
}

async function checkFiles(
  files: readonly string[],
  flags: CheckFlags,
  { cloudflareRanges, rateLimit }: Environment,
): Promise<readonly ExaminedFile[]> {
  const mergeDomains = flags.mergeDomains === true || rateLimit?.mergesDomains === true;
  const input = files.includes(STANDARD_INPUT) ? await text(process.stdin) : '';
  const nowMs = Date.now();
  const examined = examineFiles(files, { cloudflareRanges, mergeDomains, nowMs, input });
  say(linesIn(DIAGNOSTIC_FORMS[flags.output](examined)));
  const warnings = flags.strict === true ? countOf('warning', examined) : 0;
  if (warnings > 0)
    complain(
      `headgate: --strict: ${warnings} warning${warnings === 1 ? '' : 's'} treated as errors`,
    );
  if (warnings > 0 || countOf('error', examined) > 0) process.exitCode = EXIT_INVALID_CONFIG;
  return examined;
}

/** Keeps the exit code of an invalid file. Without named files, the file that serve reads says whether Redis keeps keys. */
async function checkRedis(
  { redis: target, ...environment }: Environment,
  named: readonly ExaminedFile[],
): Promise<void> {
  if (target === undefined) throw new ConfigError([NO_REDIS]);
  // Loaded only now, because most checks need no client of Redis.
  const { levelOf } = await import('../doctor/redis/diagnostics.ts');
  const { examineRedis } = await import('../doctor/redis/examine-redis.ts');
  const files =
    named.length > 0 ? named : [examinePolicies(environment, Date.now(), (path) => readText(path))];
  const keysInStore = files.some((file) => file.keysInStore === true);
  let canCount = true;
  const examination = examineRedis({ ...environment, target, now: Date.now, keysInStore });
  for await (const diagnostic of examination) {
    if (diagnostic.severity === 'error') canCount = false;
    say(`${diagnostic.file}: ${levelOf(diagnostic)}: ${diagnostic.message}`);
  }
  if (!canCount) process.exitCode ??= EXIT_FAULT;
}
