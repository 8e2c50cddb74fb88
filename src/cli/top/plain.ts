/** The same as text that is printed once. */

import { clientText, rateText, shortTime } from '../../gateway/operations/texts.ts';
import { deniedUntilCell, toned } from '../ops-client/cells.ts';
import type { Line } from '../output/output.ts';
import { table } from '../output/table.ts';
import type { Snapshot } from './gather.ts';
import { denialRateOf } from './rows.ts';
import { lineOf } from './spans.ts';
import { initialState, received } from './state.ts';
import { factsText, statements } from './status.ts';

export function plainText(snapshot: Snapshot): Line[] {
  const { overview, denied } = snapshot;
  const nowMs = Date.parse(overview.time);
  const state = received(initialState(undefined, nowMs), snapshot, nowMs);
  const policies = overview.policies.map((policy) => [
    policy.name,
    policy.mode === 'enforce' ? policy.mode : toned(policy.mode),
    rateText(policy.rates.requests),
    rateText(denialRateOf(policy)),
  ]);
  const clients = denied.clients.map((each) => [
    clientText(each),
    each.policy,
    toned(each.reason),
    String(each.denials),
    shortTime(each.since),
    deniedUntilCell(each, nowMs),
    each.decision_id,
  ]);
  const clientHead = ['CLIENT', 'POLICY', 'REASON', 'DENIALS', 'SINCE (UTC)', 'UNTIL', 'DECISION'];
  return [
    ...statements(state).map(({ text, tone }) => lineOf(text, tone)),
    factsText(overview),
    '',
    `rates: mean of the ${overview.rate_ms / 1_000} s until ${shortTime(overview.until)} UTC`,
    ...table(['POLICY', 'MODE', 'REQ/S', 'DENIED/S'], policies),
    '',
    ...(clients.length === 0
      ? ['no client was denied in the last five minutes']
      : table(clientHead, clients)),
  ];
}
