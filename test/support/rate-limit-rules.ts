/** Rate limit configurations of tests, from their YAML. */
import {
  compileRules,
  type ExaminedRules,
  examineRules,
} from '../../src/gateway/ratelimit/rules/compile.ts';
import type { CompiledRules } from '../../src/gateway/ratelimit/rules/compiled-rules.ts';
import type { Entry } from '../../src/gateway/ratelimit/rules/rule.ts';
import { readRuleFile } from '../../src/gateway/ratelimit/rules/rule-file.ts';

/** Throws a FileError if a text has mistakes. */
export function rulesFrom(...texts: readonly string[]): CompiledRules {
  return compileRules(filesFrom(texts), { mergeDomains: true });
}

export function examined(...texts: readonly string[]): ExaminedRules {
  return examineRules(filesFrom(texts), { mergeDomains: true });
}

function filesFrom(texts: readonly string[]) {
  return texts.map((text, i) => readRuleFile(`rules-${i + 1}.yaml`, text));
}

/** `path=/a method=GET`: keys have no equals sign, values no space. */
export function entriesFrom(text: string): Entry[] {
  return text.split(' ').map((entry) => {
    const equals = entry.indexOf('=');
    return { key: entry.slice(0, equals), value: entry.slice(equals + 1) };
  });
}
