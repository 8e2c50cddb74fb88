import { pathText } from '../../config/diagnostic.ts';
import { CompiledRules } from './compiled-rules.ts';
import type { Findings } from './findings.ts';
import type { Rule } from './rule.ts';
import type { DescriptorShape, DomainShape } from './shape.ts';
import { Level } from './tree.ts';

/** Characters in all names together. A long key counts for each limit below it. */
const MAX_NAME_CHARACTERS = 100_000_000;

export class RulesBuilder {
  readonly #domains = new Map<string, Level>();
  readonly #all: Rule[] = [];
  /** How often each name was taken. */
  readonly #names = new Map<string, number>();
  #characters = 0;
  readonly #mergesDomains: boolean;

  constructor(mergesDomains: boolean) {
    this.#mergesDomains = mergesDomains;
  }

  /** Returns the number of limits. */
  add({ domain, descriptors }: DomainShape, findings: Findings): number {
    const before = this.#all.length;
    const known = this.#domains.get(domain);
    if (known !== undefined && !this.#mergesDomains) {
      const message = 'is the domain of another file too, put both into one or merge domains';
      findings.add('ratelimit-domain-twice', ['domain'], message);
    }
    // The descriptors of a domain that is refused are still compared with each other.
    const level = known !== undefined && this.#mergesDomains ? known : new Level(domain);
    if (known === undefined) this.#domains.set(domain, level);
    this.#addTo(level, descriptors, { domain, findings });
    return this.#all.length - before;
  }

  rules(): CompiledRules {
    return new CompiledRules(this.#all, this.#domains);
  }

  #addTo(
    parent: Level,
    descriptors: readonly DescriptorShape[],
    context: { readonly domain: string; readonly findings: Findings },
  ): void {
    for (const shape of descriptors) {
      const { path, fullKey } = shape;
      if (this.#characters > MAX_NAME_CHARACTERS) return;
      const level = new Level(`${parent.name}.${fullKey}`, shape);
      this.#characters += level.name.length;
      if (this.#characters > MAX_NAME_CHARACTERS) {
        const message = 'makes the names of limits too long, use shorter keys and values';
        context.findings.add('ratelimit-too-large', path, message);
        return;
      }
      if (parent.has(fullKey)) {
        this.#reportTwice(shape, descriptors, context.findings);
      } else parent.add(shape, level);
      level.rule = this.#ruleOf(shape, level.name, context.domain);
      this.#addTo(level, shape.descriptors, context);
    }
  }

  #reportTwice(
    { path, fullKey }: DescriptorShape,
    siblings: readonly DescriptorShape[],
    findings: Findings,
  ): void {
    if (findings.isFull) return;
    const first = siblings.find((each) => each.fullKey === fullKey);
    // With merged domains, it may be in a file before this one.
    const other =
      first === undefined || first.path === path
        ? 'a descriptor of another file'
        : pathText(first.path);
    const message = `has the same key and value as ${other}`;
    findings.add('ratelimit-descriptor-twice', path, message);
  }

  #ruleOf(shape: DescriptorShape, fullName: string, domain: string): Rule | undefined {
    const { limit, isShadow, isQuota, metadata } = shape;
    if (limit === undefined) return undefined;
    const name = this.#unique(fullName);
    const rule = { domain, name, ...limit, isShadow, isQuota, metadata };
    this.#all.push(rule);
    return rule;
  }

  /** Names join keys with dots, and keys may have dots: `a.b` and `c` have the name of `a` and `b.c`. */
  #unique(name: string): string {
    let unique = name;
    let times = this.#names.get(name) ?? 0;
    while (this.#names.has(unique)) unique = `${name}~${++times + 1}`;
    this.#names.set(name, times);
    this.#names.set(unique, this.#names.get(unique) ?? 0);
    return unique;
  }
}
