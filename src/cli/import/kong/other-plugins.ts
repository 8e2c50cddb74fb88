/** Plugins that limit requests and are not carried over. */
import { type Finding, leftOut } from '../shared/finding.ts';
import { hasLimits, isLimitName } from '../shared/limit-words.ts';
import type { Plugin } from './entities.ts';
import { RATE_LIMITING } from './plugins.ts';

const REASONS: Readonly<Record<string, string>> = {
  'response-ratelimiting':
    'it counts by headers of responses, which headgate does not see. Keep this plugin.',
  'ai-rate-limiting-advanced':
    'it counts tokens of models, which are known after the response. Keep this plugin.',
  'graphql-rate-limiting-advanced':
    'it counts the cost of queries in the body, which headgate does not see. Keep this plugin.',
  'service-protection': 'it limits a service, whoever calls. Write a limit with per: global.',
};
const UNKNOWN =
  'headgate does not know this plugin, which looks like a limit. Keep it, or write a policy with its limits.';

const MISSING = 'it is not in this file. If it limits requests, import the file that has it, too.';

export function isOtherLimit({ name, config, isMissing }: Plugin): boolean {
  if (isMissing === true) return true;
  if (RATE_LIMITING.includes(name)) return false;
  return Object.hasOwn(REASONS, name) || isLimitName(name) || hasLimits(config);
}

export function otherPlugin({ name, place, isMissing }: Plugin): Finding {
  if (isMissing === true) return leftOut(place, name, MISSING);
  return leftOut(place, name, (Object.hasOwn(REASONS, name) && REASONS[name]) || UNKNOWN);
}
