/** The descriptors of a configuration as they are looked up. Everything that does not depend on a request is made here. */
import type { Rule } from './rule.ts';
import type { DescriptorShape } from './shape.ts';
import { Wildcard } from './wildcard.ts';

const UNDERSCORE = '_';

/** A descriptor, or a domain, which is the parent of its first descriptors. */
export class Level {
  /** The name of the domain, then each `key_value`: the name in metrics if no key asks for another one. */
  readonly name: string;
  readonly hasValueInMetric: boolean;
  readonly hasDetailedMetric: boolean;
  /** Whether all values that its wildcard matches share one counter. */
  readonly isShared: boolean;
  rule: Rule | undefined;
  /** In the order of the files. */
  readonly wildcards: Wildcard<Level>[] = [];
  #children: Map<string, Level> | undefined;
  /** Lengths of the children's keys that have an underscore: most entries have another length, and are not joined. */
  #lengths: Set<number> | undefined;

  constructor(name: string, shape?: DescriptorShape) {
    this.name = name;
    this.hasValueInMetric = shape?.hasValueInMetric ?? false;
    this.hasDetailedMetric = shape?.hasDetailedMetric ?? false;
    this.isShared = shape?.isShared ?? false;
  }

  has(fullKey: string): boolean {
    return this.#children?.has(fullKey) ?? false;
  }

  add({ key, fullKey }: DescriptorShape, child: Level): void {
    this.#children ??= new Map();
    this.#children.set(fullKey, child);
    if (fullKey.includes('*')) this.wildcards.push(new Wildcard(key, fullKey, child));
    if (fullKey.includes(UNDERSCORE)) {
      this.#lengths ??= new Set();
      this.#lengths.add(fullKey.length);
    }
  }

  /** The child that the file gives as exactly this key and value. */
  literal(key: string, value: string): Level | undefined {
    if (this.#lengths?.has(key.length + 1 + value.length) !== true) return undefined;
    return this.#children?.get(`${key}_${value}`);
  }

  /** The first wildcard in the order of the files, even if a later one is longer. */
  wildcard(key: string, value: string): Wildcard<Level> | undefined {
    for (const wildcard of this.wildcards) {
      if (wildcard.matches(key, value)) return wildcard;
    }
    return undefined;
  }

  /** The child for any value of a key. */
  anyValue(key: string): Level | undefined {
    return this.#children?.get(key);
  }

  get hasChildren(): boolean {
    return this.#children !== undefined;
  }
}
