/** Where a block sends its requests: by `try_files`, `error_page` and `rewrite`. */
import type { FilePlace } from '../../proxy-files/file-place.ts';
import { type Directive, directiveText, named } from '../../proxy-files/nginx-syntax/directive.ts';
import { onePath, type PathTemplates, templatesOf } from '../shared/path-regex.ts';
import { ANY_PATH } from '../shared/paths.ts';

export interface Rewrite {
  readonly title: string;
  readonly place: FilePlace;
  /** Undefined if a policy file cannot name the paths. */
  readonly paths: PathTemplates | undefined;
  readonly target: string;
  /** Only some requests of these paths are rewritten. */
  readonly isConditional: boolean;
}

/** Errors of the application, and of the limit itself, do not lead clients to a page with another limit. */
const ERROR = /^4(?!29)\d\d$/;

export function targetsOf(block: readonly Directive[], outerPages: readonly Directive[]): string[] {
  const own = named(block, 'error_page');
  const pages = (own.length > 0 ? own : outerPages).filter(({ args }) =>
    args.some((each) => ERROR.test(each)),
  );
  const tried = named(block, 'try_files').map(({ args }) => args.at(-1) ?? '');
  return [...tried, ...pages.map(({ args }) => args.at(-1) ?? '')].filter(isTarget);
}

function isTarget(text: string): boolean {
  return /^[@/]/.test(text);
}

export function rewritesOf(block: readonly Directive[], isConditional = false): Rewrite[] {
  return block.flatMap((each): Rewrite[] => {
    if (each.name === 'if') return rewritesOf(each.block, true);
    const [from = '', target = '', flag = 'last'] = each.args;
    if (each.name !== 'rewrite' || flag !== 'last' || !isTarget(target)) return [];
    const isEvery = /^\^?(\.\*|\(\.\*\))?\$?$/.test(from);
    const paths = isEvery ? onePath(ANY_PATH) : templatesOf(from);
    return [{ title: directiveText(each), place: each.place, paths, target, isConditional }];
  });
}
