import { NOT_SHOWN } from '../../../gateway/config/text-file.ts';
import { type IncludedText, includeBudget, type ProxyFiles } from '../read/proxy-files.ts';
import { type Directive, NginxSyntaxError } from './directive.ts';
import { parseNginx } from './parse.ts';

export function readNginxConfig(files: ProxyFiles) {
  const budget = includeBudget(files);
  const trees = new Map<string, readonly Directive[]>();
  const texts = [files.main.text];

  const treeOf = (file: IncludedText, include: Directive): readonly Directive[] => {
    const known = trees.get(file.path);
    if (known !== undefined) return known;
    try {
      const tree = parseNginx(file);
      trees.set(file.path, tree);
      texts.push(file.text);
      return tree;
    } catch (error) {
      if (!(error instanceof NginxSyntaxError) || !files.isElsewhere(file.path)) throw error;
      throw new NginxSyntaxError(include.place, `${file.name} ${NOT_SHOWN}`);
    }
  };
  /** NGINX reads paths from the folder of the main file, in included files too. */
  const expanded = (directives: readonly Directive[], open: readonly string[]): Directive[] =>
    directives.flatMap((each) => {
      const { name, args, block, place } = each;
      if (name !== 'include') return [{ ...each, block: expanded(block, open) }];
      const included = budget.read({ path: args[0] ?? '', place, open });
      // An include that stays in the tree is of a file that cannot be read.
      if (included.length === 0 && !/[*?[]/.test(args[0] ?? '')) return [each];
      return included.flatMap((file) => expanded(treeOf(file, each), [...open, file.path]));
    });

  const tree = expanded(parseNginx(files.main), []);
  return { tree, text: texts.join('\n'), problems: budget.problems() };
}
