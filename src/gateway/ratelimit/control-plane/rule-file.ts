/** Turns a `RateLimitConfig` into what a YAML file of the rate limit service says, so that one compiler reads both. */
import type { RuleFile } from '../rules/rule.ts';
import {
  type RateLimitConfig,
  type RateLimitDescriptor,
  type RateLimitPolicy,
  UNIT_NAMES,
} from './rate-limit-config.ts';

type Value = Readonly<Record<string, unknown>>;

export function ruleFileOf({ name, domain, descriptors }: RateLimitConfig): RuleFile {
  return { name: name || domain, value: { domain, ...descriptorsOf(descriptors) } };
}

function descriptorsOf(descriptors: readonly RateLimitDescriptor[]): Value {
  return descriptors.length === 0 ? {} : { descriptors: descriptors.map(descriptorOf) };
}

function descriptorOf(descriptor: RateLimitDescriptor): Value {
  const { key, value, policy, metadata, descriptors } = descriptor;
  return {
    key,
    ...(value !== '' && { value }),
    ...(policy !== undefined && { rate_limit: rateLimitOf(policy) }),
    ...(descriptor.shadowMode && { shadow_mode: true }),
    ...(descriptor.quotaMode && { quota_mode: true }),
    ...(descriptor.detailedMetric && { detailed_metric: true }),
    ...(metadata !== undefined && { metadata }),
    ...descriptorsOf(descriptors),
  };
}

function rateLimitOf(policy: RateLimitPolicy): Value {
  const { unit, requestsPerUnit, unlimited, name, replaces } = policy;
  return {
    ...(unit !== 0 && { unit: UNIT_NAMES[unit] ?? String(unit) }),
    ...((!unlimited || requestsPerUnit !== 0) && { requests_per_unit: requestsPerUnit }),
    ...(unlimited && { unlimited }),
    ...(name !== '' && { name }),
    ...(replaces.length > 0 && { replaces: replaces.map((replaced) => ({ name: replaced })) }),
  };
}
