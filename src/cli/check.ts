/** `headgate check`: what is wrong with policy files, or with a Redis, without starting anything. */
import { Command } from 'commander';
import { ConfigError } from '../config/config-error.ts';
import { readEnvironment } from '../config/environment.ts';
import { examinePolicies } from '../config/policy-reader.ts';
import { reportOnRedis } from './doctor.ts';

const EXIT_FAULT = 1;
const NO_REDIS =
  'HEADGATE_REDIS_URL: is not set, and neither is REDIS_URL; --redis examines what they name';

interface CheckFlags {
  readonly redis?: boolean;
}

export function checkCommand(): Command {
  return new Command('check')
    .description('check policy files')
    .argument('[files...]', 'policy files')
    .option('--redis', 'also whether gateways can count in Redis (HEADGATE_REDIS_URL)')
    .action(check);
}

async function check(
  files: readonly string[],
  { redis = false }: CheckFlags,
  command: Command,
): Promise<void> {
  if (files.length === 0 && !redis) command.error('error: name policy files, or --redis, or both');
  const { cloudflareRanges, redis: target, storeTimeoutMs } = readEnvironment(process.env);
  const mistakes = mistakesIn(files, cloudflareRanges);
  if (redis && target === undefined) mistakes.push(NO_REDIS);
  if (redis && target !== undefined && !(await reportOnRedis({ target, storeTimeoutMs }))) {
    process.exitCode = EXIT_FAULT;
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes);
}

/** Prints what else there is to say of each. */
function mistakesIn(files: readonly string[], cloudflareRanges: string): string[] {
  const mistakes: string[] = [];
  for (const file of files) {
    try {
      const paths = { policies: file, cloudflareRanges };
      const { policySet, notes } = examinePolicies(paths, Date.now());
      const count = policySet.policies.length;
      console.log(`${file}: fine, ${count} ${count === 1 ? 'policy' : 'policies'}`);
      for (const note of notes) console.log(note);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      mistakes.push(...error.mistakes);
    }
  }
  return mistakes;
}
