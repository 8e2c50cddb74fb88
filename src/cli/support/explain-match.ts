/** Explains which limit of rate limit files applies to a descriptor of a request. */
import { compileRules } from '../../ratelimit/rules/compile.ts';
import { explainMatch } from '../../ratelimit/rules/describe.ts';
import type { Entry } from '../../ratelimit/rules/rule.ts';
import { readRuleFiles } from '../../ratelimit/rules/rule-files.ts';
import { bySubject } from './explanation-lines.ts';
import { type OutputFlags, print } from './output.ts';

export interface MatchFlags extends OutputFlags {
  readonly domain?: string;
  /** Paths of files and directories. */
  readonly ratelimitConfig: readonly string[];
  readonly mergeDomains?: true;
}

/** `entries` are written as `key=value`. Throws a ConfigError if a file has mistakes. */
export function explainDescriptor(entries: readonly Entry[], flags: MatchFlags): void {
  const { domain = '', ratelimitConfig, mergeDomains = false } = flags;
  const { read } = readRuleFiles(ratelimitConfig);
  const steps = explainMatch(compileRules(read, { mergeDomains }), domain, entries);
  print(flags.output, { steps }, () => bySubject(steps));
}

/** The value may have further equals signs. */
export function readEntry(text: string): Entry {
  const equals = text.indexOf('=');
  return { key: text.slice(0, equals), value: text.slice(equals + 1) };
}
