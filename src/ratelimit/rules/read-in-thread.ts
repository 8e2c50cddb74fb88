/**
 * Reads rate limit files in a new thread: tens of thousands of limits take seconds to parse. The main thread compiles
 * the values, which is a tenth of the work.
 */
import { answerAs, runElsewhere } from '../../config/in-thread.ts';
import { type ReadRules, type RulePlace, readRules } from './read-rules.ts';

const NAME = 'readRules';
const THIS_FILE = new URL(import.meta.url);

/** Rejects when the files take too long or too much memory to read. */
export function readRulesElsewhere(place: RulePlace): Promise<ReadRules> {
  return runElsewhere(THIS_FILE, NAME, place);
}

answerAs(NAME, readRules);
