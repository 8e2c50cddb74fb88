/** Finds calls, arguments and properties in the tokens of a program. */
import type { Token } from './scan.ts';

/** Some tokens of the program, one after the other. */
export interface Span {
  readonly from: number;
  /** The first that does not belong to it. */
  readonly to: number;
}

const OPENERS = '([{';
const CLOSERS = ')]}';

export class Program {
  readonly tokens: readonly Token[];
  readonly #text: string;
  /** By the index of a bracket: that of its partner. */
  readonly #partners = new Map<number, number>();

  constructor(tokens: readonly Token[], text: string) {
    this.tokens = tokens;
    this.#text = text;
    const open: number[] = [];
    for (const [i, { kind, text: sign }] of tokens.entries()) {
      if (kind !== 'sign') continue;
      if (OPENERS.includes(sign)) open.push(i);
      else if (CLOSERS.includes(sign)) {
        const partner = open.pop();
        if (partner === undefined) continue;
        this.#partners.set(partner, i).set(i, partner);
      }
    }
  }

  /** The text of a sign; undefined for others. */
  sign(index: number): string | undefined {
    const token = this.tokens[index];
    return token?.kind === 'sign' ? token.text : undefined;
  }

  name(index: number): string | undefined {
    const token = this.tokens[index];
    return token?.kind === 'name' ? token.text : undefined;
  }

  partner(index: number): number | undefined {
    return this.#partners.get(index);
  }

  /** The parts between commas inside the brackets that open here. */
  parts(opener: number): Span[] {
    const end = this.partner(opener) ?? this.tokens.length;
    const parts: Span[] = [];
    let from = opener + 1;
    for (let i = from; i <= end; i++) {
      if (i < end && this.sign(i) !== ',') {
        const partner = OPENERS.includes(this.sign(i) ?? ' ') ? this.partner(i) : undefined;
        if (partner !== undefined && partner < end) i = partner;
        continue;
      }
      if (i > from) parts.push({ from, to: i });
      from = i + 1;
    }
    return parts;
  }

  /** As it is written. */
  text({ from, to }: Span): string {
    const [first, last] = [this.tokens[from], this.tokens[to - 1]];
    return first === undefined || last === undefined ? '' : this.#text.slice(first.from, last.to);
  }
}
