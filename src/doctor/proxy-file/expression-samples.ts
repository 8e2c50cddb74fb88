/** Paths that a regular expression may match. Each must be tried, because not all of them match. */
import { type Groups, treeOf } from './expression.ts';
import type { Node, Options } from './expression-tree.ts';

const MAX_SAMPLES = 32;

/** `groups`: what its groups shall be, by number or name. Empty if the expression cannot be read. */
export function expressionSamples(expression: string, groups: Groups): readonly string[] {
  const { options } = treeOf(expression);
  return options === undefined ? [] : ofOptions(options, groups);
}

function ofOptions(options: Options, groups: Groups): string[] {
  return options.flatMap((nodes) => ofSequence(nodes, groups)).slice(0, MAX_SAMPLES);
}

function ofSequence(nodes: readonly Node[], groups: Groups): string[] {
  let samples = [''];
  for (const node of nodes) {
    const ends = ofNode(node, groups);
    samples = samples.flatMap((start) => ends.map((end) => start + end)).slice(0, MAX_SAMPLES);
  }
  return samples;
}

function ofNode(node: Node, groups: Groups): string[] {
  if (node.kind === 'character') return [node.sample];
  if (node.kind === 'group') {
    const given = groups[node.number] ?? groups[node.name ?? ''];
    return given === undefined ? ofOptions(node.options, groups) : [given];
  }
  if (node.kind !== 'repeat') return [''];
  const repeated = ofNode(node.node, groups).map((each) => each.repeat(Math.max(node.least, 1)));
  return node.least === 0 ? ['', ...repeated] : repeated;
}
