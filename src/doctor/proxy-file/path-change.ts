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
export function replaced(written: string, replacement: string, isPart = false): PathChange {
  const pattern = written.replaceAll('\\/', '/');
  const [head = ''] = replacement.replaceAll('\\/', '/').split(/\\\d|\$\{?\d/, 1);
  const isAnchored = pattern.startsWith('^') || !isPart;
  const isWhole = head === replacement && !isPart;
  const anchored = isAnchored ? `^${pattern.replace(/^\^/, '')}` : pattern;
  const prefix = literalPrefix(anchored);
  return {
    head: isAnchored ? head : '',
    isWhole,
    changes(path) {
      if (/^\/?$/.test(prefix ?? 'x') && head.length > 1)
        return changeTo(head, 'the path').changes(path);
      const tail = /\)((?:\\\.|[\w/-])+)\$?$/.exec(anchored)?.[1]?.replaceAll('\\', '');
      if (tail !== undefined && !path.includes(tail)) return false;
      return matchesExpression(anchored, { path, ignoresCase: false });
    },
    before(path) {
      if (prefix === undefined || isWhole) return undefined;
      const slash = head.endsWith('/') && !prefix.endsWith('/') ? '/' : '';
      return prefix + slash + path.slice(head.length);
    },
  };
}

/** `/old` of `^/old/?(.*)$`: the text before the part that is kept. Undefined if the expression has another form. */
function literalPrefix(expression: string): string | undefined {
  const slashes = expression.replace(/\((?:\?:)?\/\)\?/, '/?');
  const form =
    /^\^((?:\\\.|[\w/~-])*?)(?:\/\?)?(?:\(\/?\.[*+]\)\??|\(\|\/\.\*\)|\.\*|\(\/\|\$\))?\$?$/;
  return form.exec(slashes)?.[1]?.replaceAll('\\', '');
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
