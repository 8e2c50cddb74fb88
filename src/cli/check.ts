/** `headgate check`: everything that loading a policy file would refuse, without starting anything. */
import { Command } from 'commander';
import { ConfigError } from '../config/config-error.ts';
import { readEnvironment } from '../config/environment.ts';
import { readPolicyFile } from '../config/policy-source.ts';

export function checkCommand(): Command {
  return new Command('check')
    .description('check policy files')
    .argument('<files...>', 'policy files')
    .action(check);
}

function check(files: readonly string[]): void {
  const { cloudflareRanges } = readEnvironment(process.env);
  const mistakes: string[] = [];
  for (const file of files) {
    try {
      const { policySet, notes, advice } = readPolicyFile({ policies: file, cloudflareRanges });
      const count = policySet.policies.length;
      console.log(`${file}: fine, ${count} ${count === 1 ? 'policy' : 'policies'}`);
      for (const note of [...notes, ...advice(Date.now())]) console.log(note);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      mistakes.push(...error.mistakes);
    }
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes);
}
