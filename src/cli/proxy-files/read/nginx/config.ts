/** Reads an NGINX configuration with the files that it includes. */
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { IncludeBudget, type IncludedText, type ProxyFiles } from '../proxy-files.ts';
import { type Directive, nginxTree } from './tree.ts';

export interface NginxConfig {
  /** Every include is replaced by what it includes. */
  readonly tree: readonly Directive[];
  /** Of all files, the main one first. */
  readonly text: string;
  /** What could not be read. */
  readonly findings: readonly Diagnostic[];
}

export function readNginxConfig(files: ProxyFiles): NginxConfig {
  const budget = new IncludeBudget(files);
  const trees = new Map<string, readonly Directive[]>();
  const texts = [files.main.text];

  const treeOf = (file: IncludedText): readonly Directive[] => {
    const known = trees.get(file.path);
    if (known !== undefined) return known;
    const tree = nginxTree(file);
    trees.set(file.path, tree);
    texts.push(file.text);
    return tree;
  };
  const expanded = (directives: readonly Directive[], depth: number): Directive[] =>
    directives.flatMap((each) => {
      const { name, args, block, place } = each;
      if (name !== 'include') return [{ ...each, block: expanded(block, depth) }];
      const included = budget.read({ path: args[0] ?? '', place, depth });
      return included.flatMap((file) => expanded(treeOf(file), depth + 1));
    });

  const tree = expanded(nginxTree(files.main), 0);
  return { tree, text: texts.join('\n'), findings: budget.findings };
}
