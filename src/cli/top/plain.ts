/** The same as text that is printed once. */

import { columns, shortTime } from '../support/output.ts';
import type { Snapshot } from './gather.ts';
import { rateOf } from './rates.ts';
import { clientName, denialsOf } from './rows.ts';
import { initialState, received } from './state.ts';
import { factsText, statements } from './status.ts';
import { rateText } from './text.ts';

export function plainText(snapshot: Snapshot): string[] {
  const { overview, denied } = snapshot;
  const nowMs = Date.parse(overview.time);
  const state = received(initialState(undefined, nowMs), snapshot, nowMs);
  const policies = overview.policies.map((policy) => [
    policy.name,
    policy.mode,
    rateText(rateOf(policy.requests, overview.step_ms)),
    rateText(rateOf(denialsOf(policy), overview.step_ms)),
  ]);
  const clients = denied.clients.map((each) => [
    clientName(each),
    each.policy,
    each.reason,
    String(each.denials),
    shortTime(each.since),
    each.until === undefined ? '' : shortTime(each.until),
    each.decision_id,
  ]);
  const clientHead = ['CLIENT', 'POLICY', 'REASON', 'DENIALS', 'SINCE (UTC)', 'UNTIL', 'DECISION'];
  return [
    ...statements(state).map(({ text }) => text),
    factsText(overview),
    '',
    ...columns([['POLICY', 'MODE', 'REQ/S', 'DENIED/S'], ...policies]),
    '',
    ...(clients.length === 0
      ? ['no client was denied in the last five minutes']
      : columns([clientHead, ...clients])),
  ];
}
