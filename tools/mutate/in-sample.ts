/** A checker of Stryker: the other mutants that lie within the range of a chosen one are not run. */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { PROJECT, SAMPLE_FILE } from './folders.ts';
import { keyOf, type Mutant } from './mutant.ts';

interface Planned extends Mutant {
  readonly id: string;
  readonly fileName: string;
}

class InSample {
  readonly #sample = new Set<string>(JSON.parse(readFileSync(SAMPLE_FILE, 'utf8')));

  async init(): Promise<void> {}

  async check(mutants: readonly Planned[]) {
    return Object.fromEntries(mutants.map((each) => [each.id, this.#judge(each)]));
  }

  async group(mutants: readonly Planned[]) {
    return [mutants.map(({ id }) => id)];
  }

  #judge(mutant: Planned) {
    const isChosen = this.#sample.has(keyOf(relative(PROJECT, mutant.fileName), mutant, 0));
    return isChosen
      ? { status: 'passed' }
      : { status: 'compileError', reason: 'is not in the sample' };
  }
}

export const strykerPlugins = [{ kind: 'Checker', name: 'in-sample', injectableClass: InSample }];
