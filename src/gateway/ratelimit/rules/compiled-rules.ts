/** Rules that are ready for requests. */
import { findRule } from './find.ts';
import type { Entry, MatchedRule, Rule, Rules } from './rule.ts';
import type { Level } from './tree.ts';

export class CompiledRules implements Rules {
  readonly all: readonly Rule[];
  /** The first level of each domain. */
  readonly #domains: ReadonlyMap<string, Level>;

  constructor(all: readonly Rule[], domains: ReadonlyMap<string, Level>) {
    this.all = all;
    this.#domains = domains;
  }

  hasDomain(domain: string): boolean {
    return this.#domains.has(domain);
  }

  find(domain: string, entries: readonly Entry[]): MatchedRule | undefined {
    const level = this.#domains.get(domain);
    return level === undefined ? undefined : findRule(level, domain, entries);
  }

  levelOf(domain: string): Level | undefined {
    return this.#domains.get(domain);
  }

  get domains(): readonly string[] {
    return [...this.#domains.keys()];
  }
}
