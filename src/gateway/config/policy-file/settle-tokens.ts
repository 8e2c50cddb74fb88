import { LONGEST_TOKEN, largestToken } from '../../settlement/token-size.ts';
import type { DiagnosticDraft } from '../diagnostic.ts';
import { afterwardsOf } from './afterwards-schema.ts';
import { compilePolicies, type KnownRanges } from './compile.ts';
import { mcpServers } from './mcp-servers.ts';
import { allLimits, type ValidFile } from './valid-file.ts';

/** Compiles the file only if it has limits that charge afterwards. */
export function settleTokenMistakes(file: ValidFile, ranges: KnownRanges): DiagnosticDraft[] {
  const limits = [file.fallback, ...file.entries].flatMap(allLimits);
  if (limits.every((limit) => afterwardsOf(limit) === undefined)) return [];
  const { policies } = compilePolicies(file, ranges);
  const settling = policies.filter(({ settles }) => settles);
  const always = file.entries.filter((each) => each.always).map(({ name }) => name);
  const strict = mcpServers(file.entries, file.caseSensitive).filter(({ isStrict }) => isStrict);
  const together = strict.map(({ withoutHeaders }) => [...withoutHeaders].map(({ name }) => name));
  return [...settling.map(({ name }) => [name]), ...together].flatMap((names) => {
    const own = settling.filter(({ name }) => names.includes(name));
    const besides = settling.filter((each) => always.includes(each.name) && !own.includes(each));
    const length = largestToken([...own, ...besides]);
    if (length <= LONGEST_TOKEN) return [];
    const index = file.entries.findIndex(({ name }) => name === names[0]);
    const path = index === -1 ? ['default'] : ['policies', index];
    const ofTools = names.length === 1 ? '' : ' of this policy and, by "none: strict", of tools';
    const among = besides.length === 0 ? '' : ' together with those of policies with always: true';
    const message = `limits with reserve or refund${ofTools}${among} need a settle token of ${length} characters, the maximum is ${LONGEST_TOKEN}: use fewer of them, or fewer ipv6_prefixes`;
    return [{ rule: 'settle-token', path, message }];
  });
}
