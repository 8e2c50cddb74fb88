/**
 * Reads rate limit files in a new thread: tens of thousands of limits take seconds to parse. The main thread compiles
 * the values, which is a tenth of the work.
 */
import { answerAs, runElsewhere } from '../../config/in-thread.ts';
import { type ReadValues, type RulePlace, readValues } from './read-rules.ts';

const NAME = 'readRuleValues';
const THIS_FILE = new URL(import.meta.url);

/** Rejects when the files take too long or too much memory to read. */
export function readValuesElsewhere(place: RulePlace): Promise<ReadValues> {
  return runElsewhere(THIS_FILE, NAME, place);
}

answerAs(NAME, readValues);
