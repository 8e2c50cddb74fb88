/** What `explain` says of the client beyond the trace: the id of its key, and the overrides that name it. */
import type { ListedClients } from '../core/listed-clients.ts';
import type { TraceEvent } from '../core/trace.ts';
import type { Step } from './explain-text.ts';
import { clientText, listedFields } from './listed-fields.ts';
import {
  clientOverride,
  endedOverrideOf,
  type OverrideLists,
  overridesOf,
} from './override-report.ts';
import { endedText, inForceText } from './override-text.ts';

export interface ClientContext {
  readonly listed: ListedClients;
  readonly overrides: OverrideLists;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** None for every event but the one that has the names of the client. */
export function clientSteps(event: TraceEvent, context: ClientContext): Step[] {
  if (event.type !== 'client-names') return [];
  const { names } = event;
  const sentences = [...listedTexts(names, context), ...overrideTexts(names, context)];
  return sentences.map((what) => ({ about: 'identity', what }));
}

function listedTexts(names: readonly string[], { listed }: ClientContext): string[] {
  return names
    .filter((name) => listed.has(name))
    .map(
      (client) => `the key is listed: ${clientText({ client, ...listedFields(client, listed) })}`,
    );
}

/** The overrides in force or, if there is none, the one that ended last. */
function overrideTexts(
  names: readonly string[],
  { listed, overrides, nowMs }: ClientContext,
): string[] {
  const inForce = overridesOf(names, overrides);
  if (inForce.length > 0) {
    return inForce.map((each) => `override: ${inForceText(clientOverride(each, listed), nowMs)}`);
  }
  const ended = endedOverrideOf(names, overrides, listed);
  return ended === undefined ? [] : [`ended override: ${endedText(ended, nowMs)}`];
}
