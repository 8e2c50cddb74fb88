const MAX_LENGTH = 64;
/** `default` and `none` are reserved in a policy file. */
const RESERVED: readonly string[] = ['default', 'none'];

export class PolicyNames {
  readonly #taken = new Set(RESERVED);
  /** Counts how often a name was wanted, so that many equal names cost no more than others. */
  readonly #counts = new Map<string, number>();

  /** A name of 1 to 64 of a-z, 0-9, "_" and "-" that was not given before. */
  nameFor(text: string): string {
    const base = validName(text);
    let name = base;
    let count = this.#counts.get(base) ?? 1;
    while (this.#taken.has(name)) {
      count++;
      const suffix = `-${count}`;
      name = `${base.slice(0, MAX_LENGTH - suffix.length)}${suffix}`;
    }
    this.#counts.set(base, count);
    this.#taken.add(name);
    return name;
  }
}

function validName(text: string): string {
  const plain = text
    .slice(0, 4 * MAX_LENGTH)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9_]+/g, '-');
  const name = plain.replace(/^[-_]+/, '').slice(0, MAX_LENGTH);
  const end = name.replace(/-+$/, '');
  return end === '' ? 'policy' : end;
}
