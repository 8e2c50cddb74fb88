import { hint } from '../../gateway/config/closest-word.ts';
import type { DiagnosticDraft, Path } from '../../gateway/config/diagnostic.ts';
import { OperationError } from '../../gateway/operations/operation-error.ts';
import type { Setting } from './policy-test.ts';
import type { WrittenOverride } from './step-schema.ts';
import { operatorName } from './test-client.ts';
import type { TestedPolicies } from './tested-policies.ts';

export interface OverrideFacts {
  readonly setting: Setting;
  /** All clients, also those with mistakes. */
  readonly clientNames: readonly string[];
  readonly policies: TestedPolicies | undefined;
  readonly isDown: boolean;
}

const WITH_END = ['block', 'exempt', 'mode'] as const;
const ENDINGS = ['unblock', 'unexempt', 'restore'] as const;
const OF_CLIENTS = ['block', 'exempt', 'unblock', 'unexempt'] as const;

export function overrideMistakes(
  change: WrittenOverride,
  path: Path,
  facts: OverrideFacts,
): DiagnosticDraft[] {
  const mistakes = mistakesInKeys(change).map((message) => draft(path, message));
  if (facts.isDown) {
    mistakes.push(draft(path, 'cannot be made while the store is down, put it before that step'));
  }
  for (const key of OF_CLIENTS) {
    const message = clientMistake(change[key], facts);
    if (message !== undefined) mistakes.push(draft([...path, key], message));
  }
  return mistakes;
}

function draft(path: Path, message: string): DiagnosticDraft {
  return { rule: 'invalid-value', path, message };
}

function mistakesInKeys(change: WrittenOverride): string[] {
  const given = [...WITH_END, ...ENDINGS].filter((key) => change[key] !== undefined);
  if (given.length !== 1) {
    return ['must have one of block, exempt, mode, unblock, unexempt and restore'];
  }
  const hasEnd = WITH_END.some((key) => given.includes(key));
  if (hasEnd && change.for === undefined) return ['must say how long, such as "for: 10min"'];
  return !hasEnd && change.for !== undefined ? [`has for, which ${given} does not take`] : [];
}

function clientMistake(
  text: string | undefined,
  { setting, clientNames, policies }: OverrideFacts,
): string | undefined {
  const isMistaken = text !== undefined && clientNames.includes(text) && !setting.clients.has(text);
  if (text === undefined || policies === undefined || isMistaken) return undefined;
  try {
    operatorName(text, setting, policies);
    return undefined;
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    const remedy = hint(text, clientNames);
    return remedy === ''
      ? `is not a client of this file, nor one as operators name it: ${error.message}`
      : `is not a client of this file${remedy}`;
  }
}
