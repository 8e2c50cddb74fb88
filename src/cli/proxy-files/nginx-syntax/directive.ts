import { type FilePlace, placeText } from '../file-place.ts';

export interface Directive {
  readonly name: string;
  readonly args: readonly string[];
  /** The arguments with their quotes and escapes, as the file has them. */
  readonly written: readonly string[];
  /** The directives between its braces; empty without braces, and for a block of Lua. */
  readonly block: readonly Directive[];
  readonly place: FilePlace;
  readonly where: string;
  /** It stands in a part that headgate has printed. */
  readonly isPart: boolean;
}

export function named(directives: readonly Directive[], ...names: readonly string[]): Directive[] {
  return directives.filter(({ name }) => names.includes(name));
}

export function everyDirective(directives: readonly Directive[]): Directive[] {
  return directives.flatMap((each) => [each, ...everyDirective(each.block)]);
}

export function directiveText({ name, args }: Pick<Directive, 'name' | 'args'>): string {
  return [name, ...args].join(' ');
}

export class NginxSyntaxError extends Error {
  override readonly name = 'NginxSyntaxError';

  readonly place: FilePlace;
  readonly reason: string;

  constructor(place: FilePlace, reason: string) {
    super(`${placeText(place)}: ${reason}`);
    this.place = place;
    this.reason = reason;
  }
}
