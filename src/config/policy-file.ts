/** From the text of a policy file to a compiled policy set, or to every mistake in it at once. */
import type { z } from 'zod';
import { compileAddressSet } from '../core/address.ts';
import { compileIdentity } from '../core/identity.ts';
import type { Route } from '../core/matcher.ts';
import { compilePolicy, type Policy } from '../core/policy.ts';
import { compilePolicySet, type PolicySet } from '../core/policy-set.ts';
import { DAY_MS } from '../core/salts.ts';
import { ConfigError } from './config-error.ts';
import { crossMistakes } from './policy-cross-checks.ts';
import { notesOn } from './policy-notes.ts';
import { routeMatchOf } from './policy-route.ts';
import {
  type AnswersSection,
  answersSchema,
  type DefaultEntry,
  defaultSchema,
  type IdentitySection,
  identitySchema,
  matchingSchema,
  outlineSchema,
  type PolicyEntry,
  policySchema,
} from './policy-schema.ts';
import { type LocatedMistake, mistakesFrom, pathText } from './schema-mistakes.ts';
import { type Path, readYaml, type YamlText } from './yaml-text.ts';

/** Address ranges that a policy file may name. */
export interface KnownRanges {
  readonly cloudflare: readonly string[];
}

export interface LoadedPolicies {
  readonly policySet: PolicySet;
  /** What its author should know, each as `file:line:column: path: note`. */
  readonly notes: readonly string[];
}

/** Throws a ConfigError whose mistakes read `file:line:column: path: what is wrong`. */
export function compilePolicyFile(
  text: string,
  fileName: string,
  ranges: KnownRanges,
): LoadedPolicies {
  const yaml = readYaml(text);
  if (yaml.mistakes.length > 0) {
    throw new ConfigError(
      yaml.mistakes.map(({ offset, message }) => `${fileName}:${yaml.place(offset)}: ${message}`),
    );
  }
  const parts = new Parts(yaml);
  const file = validate(parts, yaml);
  if (file === undefined) throw new ConfigError(located(parts.mistakes, fileName, yaml));
  return {
    policySet: compile(file, ranges),
    notes: located(notesOn(file, yaml), fileName, yaml),
  };
}

interface ValidFile {
  readonly identity: IdentitySection;
  readonly answers: AnswersSection;
  readonly caseSensitive: boolean;
  readonly fallback: DefaultEntry;
  readonly entries: readonly PolicyEntry[];
}

/** Undefined when anything is wrong; what, is with the parts. */
function validate(parts: Parts, yaml: YamlText): ValidFile | undefined {
  parts.parse(outlineSchema, yaml.value, []);
  const sections = isObject(yaml.value) ? yaml.value : {};
  const identity = parts.parse(identitySchema, sections.identity ?? {}, ['identity']);
  const matching = parts.parse(matchingSchema, sections.matching ?? {}, ['matching']);
  const answers = parts.parse(answersSchema, sections.answers ?? {}, ['answers']);
  const fallback = isObject(sections.default)
    ? parts.parse(defaultSchema, sections.default, ['default'])
    : undefined;
  const written: unknown[] = Array.isArray(sections.policies) ? sections.policies : [];
  const entries = written.map((entry, i) => parts.parse(policySchema, entry, ['policies', i]));
  const names = written.map((entry) => (isObject(entry) ? entry.name : undefined));
  const caseSensitive = matching?.case_sensitive ?? false;
  const together = { identity, fallback, entries, names, caseSensitive };
  parts.mistakes.push(...crossMistakes(together, yaml));
  if (parts.mistakes.length > 0 || !identity || !answers || !fallback) return undefined;
  return {
    identity,
    answers,
    caseSensitive,
    fallback,
    entries: entries.filter((entry) => !!entry),
  };
}

function compile(file: ValidFile, ranges: KnownRanges): PolicySet {
  const { identity, answers, caseSensitive, fallback, entries } = file;
  const factor = identity.api_key.unverified_factor;
  const routesOf = (always: boolean) =>
    entries
      .filter((entry) => entry.always === always)
      .map((entry) => toRoute(entry, factor, caseSensitive));
  const limits = [fallback, ...entries].flatMap((entry) => entry.limits);
  return compilePolicySet({
    routes: routesOf(false),
    always: routesOf(true),
    fallback: toPolicy({ ...fallback, name: 'default' }, factor),
    identify: compileIdentity(toIdentityConfig(identity, limits, ranges)),
    answers: {
      reset: answers.reset,
      retryAfterJitterSeconds: answers.retry_after_jitter_seconds,
      body: answers.body,
    },
    caseSensitive,
  });
}

/** Validates the parts of a file one by one, and keeps what is wrong with any of them. */
class Parts {
  readonly mistakes: LocatedMistake[] = [];
  readonly #yaml: YamlText;

  constructor(yaml: YamlText) {
    this.#yaml = yaml;
  }

  parse<S extends z.ZodType>(schema: S, value: unknown, at: Path): z.output<S> | undefined {
    const result = schema.safeParse(value, { reportInput: true });
    if (result.success) return result.data;
    this.mistakes.push(...mistakesFrom(result.error.issues, schema, at, this.#yaml));
    return undefined;
  }
}

function located(mistakes: LocatedMistake[], fileName: string, yaml: YamlText): string[] {
  return mistakes
    .sort((a, b) => a.offset - b.offset)
    .map(({ offset, path, message }) => {
      const where = `${fileName}:${yaml.place(offset)}`;
      return path.length === 0
        ? `${where}: the file ${message}`
        : `${where}: ${pathText(path)}: ${message}`;
    });
}

function toRoute(entry: PolicyEntry, factor: number, caseSensitive: boolean): Route<Policy> {
  return { ...routeMatchOf(entry, caseSensitive), value: toPolicy(entry, factor) };
}

function toPolicy(entry: DefaultEntry & { readonly name: string }, factor: number): Policy {
  return compilePolicy(
    {
      name: entry.name,
      cost: entry.cost,
      onStoreFailure: entry.on_store_failure,
      limits: entry.limits.map(toLimitDefinition),
    },
    factor,
  );
}

type LimitEntry = DefaultEntry['limits'][number];

function toLimitDefinition({ rate, per, algorithm, burst, count_rejected }: LimitEntry) {
  return { ...rate, per, algorithm, burst: burst ?? rate.limit, countRejected: count_rejected };
}

function toIdentityConfig(
  section: IdentitySection,
  limits: readonly LimitEntry[],
  ranges: KnownRanges,
) {
  const headers = limits
    .filter(({ per }) => per.startsWith('header:'))
    .map(({ per }) => per.slice('header:'.length));
  return {
    sources: section.sources,
    apiKeyHeader: section.api_key.header,
    apiKeys: new Map(section.api_key.keys.map((key) => [key.sha256, key.id])),
    userHeader: section.user.header,
    trustedProxies: compileAddressSet(section.trusted_proxies, { ...ranges }),
    cloudflare: compileAddressSet(ranges.cloudflare),
    headers: [...new Set(headers)],
    verifiedHeaders: section.verified_headers,
    ipv6PrefixBits: section.ip.ipv6_prefix,
    hasLongWindows: limits.some(({ rate }) => rate.windowMs > DAY_MS),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
