/** Prints the snapshot once, as plain tables. */
import { clientText, rateText, shortTime } from '../../gateway/operations/texts.ts';
import { deniedUntilCell, tableOf, toned } from '../ops-client/cells.ts';
import type { Line } from '../output/output.ts';
import type { Snapshot } from './gather.ts';
import { denialRateOf } from './rows.ts';
import { initialState, received } from './state.ts';
import { factsText, statements } from './status.ts';
import { lineOf } from './text.ts';

export function plainText(snapshot: Snapshot): Line[] {
  const { overview, denied } = snapshot;
  const nowMs = Date.parse(overview.time);
  const state = received(initialState(undefined, nowMs), snapshot, nowMs);
  const policies = tableOf(overview.policies, {
    POLICY: ({ name }) => name,
    MODE: ({ mode }) => (mode === 'enforce' ? mode : toned(mode)),
    'REQ/S': ({ rates }) => rateText(rates.requests),
    'DENIED/S': (policy) => rateText(denialRateOf(policy)),
  });
  const clients = tableOf(denied.clients, {
    CLIENT: clientText,
    POLICY: ({ policy }) => policy,
    REASON: ({ reason }) => toned(reason),
    DENIALS: ({ denials }) => String(denials),
    'SINCE (UTC)': ({ since }) => shortTime(since),
    UNTIL: (each) => deniedUntilCell(each, nowMs),
    DECISION: ({ decision_id: id }) => id,
  });
  const nobody = 'no client was denied in the last five minutes';
  return [
    ...statements(state).map(({ text, tone }) => lineOf(text, tone)),
    factsText(overview),
    '',
    `rates: mean of the ${overview.rate_ms / 1_000} s until ${shortTime(overview.until)} UTC`,
    ...policies,
    '',
    ...(denied.clients.length === 0 ? [nobody] : clients),
  ];
}
