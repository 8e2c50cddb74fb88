/** How things are, in the words of the gateway, and how old they are. */
import type { Output } from '../../gateway/operations/operation-table.ts';
import { durationText, gatewaysText, listText } from '../../gateway/operations/texts.ts';
import type { Tone } from '../output/output.ts';
import { ageOf, type TopState } from './state.ts';
import { clockText } from './text.ts';

export interface Statement {
  readonly text: string;
  readonly tone: Tone;
}

const TONES = { well: 'good', warning: 'warning', wrong: 'bad' } as const;
const DIGEST_LENGTH = 12;

export function statements(state: TopState): Statement[] {
  const { snapshot, failure } = state;
  if (snapshot === undefined) {
    if (failure === undefined) return [{ text: 'Waiting for the gateway ...', tone: 'aside' }];
    return [{ text: `No data yet: ${failure}. Trying again.`, tone: 'bad' }];
  }
  const lines = snapshot.overview.status.map(({ level, text }) => ({ text, tone: TONES[level] }));
  if (failure === undefined) return lines;
  const age = durationText(Math.round(ageOf(state) / 1_000));
  return [{ text: `Data of ${age} ago: ${failure}. Trying again.`, tone: 'bad' }, ...lines];
}

export function factsText(overview: Output<'overview'>): string {
  const { store, gateways, policy_file: file, policies_left_out: leftOut = 0 } = overview;
  const states = store.states.map(({ state, policies, gateways: count }) => {
    const what = state === 'enforced' ? 'counting' : `${listText(policies)} ${state}`;
    // A gateway whose policies differ is in several states.
    return count === gateways.answered ? what : `${what} on ${count}`;
  });
  const [first, ...others] = file.digests;
  const digest = first === undefined ? 'unknown' : first.digest.slice(0, DIGEST_LENGTH);
  const since = first === undefined ? '' : ` since ${clockText(Date.parse(first.since))}`;
  return [
    `${[store.kind, store.version].filter(Boolean).join(' ')}: ${states.join(', ')}`,
    gatewaysText(gateways),
    `policy file ${digest}${others.length > 0 ? ` and ${others.length} more` : since}`,
    ...(leftOut > 0 ? [`${leftOut} more policies with fewer requests`] : []),
  ].join('; ');
}
