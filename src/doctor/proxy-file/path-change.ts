/** How a line of a proxy makes the new path, as far as its text says. */
import { matchesExpression } from './expression.ts';

export interface PathChange {
  /** What each new path begins with. */
  readonly head: string;
  /** The new path is `head`, and nothing follows. */
  readonly isWhole: boolean;
  /** Whether a path is one that the line changes. Undefined: the text does not say. */
  changes(path: string): boolean | undefined;
  /** The path that clients send to get a new one. Undefined: the text does not say. */
  before(path: string): string | undefined;
}

/** `head`: the beginning of each new path. `rest`: what follows it. */
export function changeTo(head: string, rest: 'nothing' | 'the path' | 'unknown'): PathChange {
  return {
    head,
    isWhole: rest === 'nothing',
    changes(path) {
      if (rest === 'nothing') return path !== head;
      // Such a line makes every path longer, so one that is long already is the application's.
      return rest === 'unknown' || !path.startsWith(head);
    },
    before: (path) => (rest === 'the path' ? path.slice(head.length) : undefined),
  };
}

/** `^/old(/.*)` and `/new\1`. `isPart`: only the part that matches is replaced. */
export function replaced(pattern: string, replacement: string, isPart = false): PathChange {
  const start = replacement.search(/\\\d|\$\{?\d/);
  const head = start === -1 ? replacement : replacement.slice(0, start);
  const literal = /^\^?((?:\\?[/.]|[\w-])*)(\/\?)?(\(.*\)|\.\*)?\$?$/.exec(pattern);
  const prefix = literal?.[1]?.replaceAll('\\', '');
  const isAnchored = pattern.startsWith('^') || !isPart;
  return {
    head: isAnchored ? head : '',
    isWhole: start === -1 && !isPart,
    changes(path) {
      if (/^\/?$/.test(prefix ?? 'x') && head.length > 1)
        return changeTo(head, 'the path').changes(path);
      return matchesExpression(isAnchored ? `^${pattern.replace(/^\^/, '')}` : pattern, {
        path,
        ignoresCase: false,
      });
    },
    before: (path) =>
      prefix === undefined || !isAnchored ? undefined : prefix + path.slice(head.length),
  };
}

/** `/old` is taken off the beginning. */
export function stripped(prefix: string): PathChange {
  return {
    head: '',
    isWhole: false,
    changes: (path) => path.startsWith(prefix),
    before: (path) => prefix.replace(/\/$/, '') + path,
  };
}
