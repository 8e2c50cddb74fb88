/**
 * Reads policies in a new thread: thousands of policies or keys take seconds to parse. The main thread compiles the
 * result, which is a tenth of the work.
 */
import { answerAs, runElsewhere } from '../in-thread.ts';
import { type PolicyFiles, type Reading, readPolicies } from './read.ts';

const NAME = 'readPolicies';
const THIS_FILE = new URL(import.meta.url);

/** Rejects when the files take too long or too much memory to read. */
export function readPoliciesElsewhere(paths: PolicyFiles): Promise<Reading> {
  return runElsewhere(THIS_FILE, NAME, paths);
}

answerAs(NAME, readPolicies);
