/** Explains which limit of rate limit files applies to a descriptor of a request. */
import { compileRules } from '../../gateway/ratelimit/rules/compile.ts';
import { explainMatch } from '../../gateway/ratelimit/rules/describe.ts';
import type { Entry } from '../../gateway/ratelimit/rules/rule.ts';
import { readRuleFiles } from '../../gateway/ratelimit/rules/rule-files.ts';
import { commandEnvironment } from '../environment/commands.ts';
import { CommandFailed } from '../output/command-failed.ts';
import { EXIT_USAGE } from '../output/exit-codes.ts';
import { bySubject } from '../output/explanation-lines.ts';
import { type OutputFlags, print } from '../output/output.ts';

const NO_FILES =
  'give the rate limit files with --ratelimit-config, or set HEADGATE_RATELIMIT_CONFIG';

export interface MatchFlags extends OutputFlags {
  readonly domain?: string;
  readonly ratelimitConfig: readonly string[];
  readonly mergeDomains?: true;
}

/** `entries` are written as `key=value`. Throws a ConfigError if a file has mistakes. */
export function explainDescriptor(entries: readonly Entry[], flags: MatchFlags): void {
  const { domain = '' } = flags;
  const { paths, mergeDomains } = filesOf(flags);
  const { read } = readRuleFiles(paths);
  const steps = explainMatch(compileRules(read, { mergeDomains }), domain, entries);
  print(flags.output, { steps }, () => bySubject(steps));
}

function filesOf({ ratelimitConfig, mergeDomains: merges }: MatchFlags) {
  const mergeDomains = merges === true;
  if (ratelimitConfig.length > 0) return { paths: ratelimitConfig, mergeDomains };
  const { config, mergesDomains = false } = commandEnvironment(process.env).rateLimit ?? {};
  if (config === undefined) throw new CommandFailed(EXIT_USAGE, NO_FILES);
  return { paths: [config], mergeDomains: mergeDomains || mergesDomains };
}

/** The value may have further equals signs. */
export function readEntry(text: string): Entry {
  const equals = text.indexOf('=');
  return { key: text.slice(0, equals), value: text.slice(equals + 1) };
}
