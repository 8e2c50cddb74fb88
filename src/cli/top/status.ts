/** How things are, in words: what is wrong, the worst first, or that all is well. */
import type { Overview, StoreState } from '../../operations/schemas/overview.ts';
import { durationText } from '../../operations/time-text.ts';
import type { Tone } from '../support/output.ts';
import { rateOf, sum } from './rates.ts';
import { ageOf, type TopState } from './state.ts';
import { clockText, plural, rateText } from './text.ts';

export interface Statement {
  readonly text: string;
  readonly tone: Tone;
}

const WITHOUT_STORE: Readonly<Record<StoreState, string>> = {
  closed: 'requests that cannot be counted are denied',
  open: 'requests that cannot be counted are allowed',
  local: 'each gateway counts its share',
  enforced: 'requests are counted in the store',
};
const DIGEST_LENGTH = 12;

/** At least one. */
export function statements(state: TopState): Statement[] {
  const { snapshot, failure } = state;
  if (snapshot === undefined) return [firstAnswer(failure)];
  const wrong = [
    ...(failure === undefined ? [] : [staleData(state, failure)]),
    ...storeFailures(snapshot.overview),
    ...silentGateways(snapshot.overview),
    ...policyFileFaults(snapshot.overview),
    ...refusedCaller(snapshot.overview),
    ...untrustedProxy(snapshot.overview),
  ];
  return wrong.length > 0 ? wrong : [allIsWell(snapshot.overview)];
}

/** `12 requests/s, 0.4 denied/s`, with those that no policy decided. */
export function ratesText({ policies, without_policy: others, step_ms: stepMs }: Overview): string {
  const rate = (of: (series: Overview['without_policy']) => readonly number[]) =>
    rateText(sum([...policies, others].map((series) => rateOf(of(series), stepMs))));
  return `${rate(({ requests }) => requests)} requests/s, ${rate(({ denials }) => denials)} denied/s`;
}

/** Store, gateways and policy file. */
export function factsText(overview: Overview): string {
  const { store, gateways, policy_file: file, policies_left_out: leftOut = 0 } = overview;
  const states = store.states.map(({ state, gateways: count }) => `${count} ${state}`);
  const [first, ...others] = file.digests;
  const digest = first === undefined ? 'unknown' : first.digest.slice(0, DIGEST_LENGTH);
  const since = first === undefined ? '' : ` since ${clockText(Date.parse(first.since))}`;
  return [
    `${[store.kind, store.version].filter(Boolean).join(' ')}: ${states.join(', ')}`,
    `${gateways.answered}/${plural(gateways.asked, 'gateway')}`,
    `policy file ${digest}${others.length > 0 ? ` and ${others.length} more` : since}`,
    ...(leftOut > 0 ? [`${leftOut} more policies with fewer requests`] : []),
  ].join('; ');
}

function firstAnswer(failure: string | undefined): Statement {
  if (failure === undefined) return { text: 'Asking the gateway ...', tone: 'aside' };
  return { text: `No data yet: ${failure}. Trying again.`, tone: 'bad' };
}

function staleData(state: TopState, failure: string): Statement {
  const age = durationText(Math.round(ageOf(state) / 1_000));
  return { text: `Data of ${age} ago: ${failure}. Trying again.`, tone: 'bad' };
}

function allIsWell(overview: Overview): Statement {
  const { store, gateways } = overview;
  const where = store.kind === 'redis' ? 'Redis' : 'memory';
  const who = plural(gateways.answered, 'gateway');
  const verb = gateways.answered === 1 ? 'counts' : 'count';
  return { text: `All is well: ${who} ${verb} in ${where}. ${ratesText(overview)}.`, tone: 'good' };
}

function storeFailures({ store, gateways }: Overview): Statement[] {
  const order = Object.keys(WITHOUT_STORE);
  return store.states
    .filter(({ state }) => state !== 'enforced')
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
    .map(({ state, gateways: count, since, reason }) => {
      const when = since === undefined ? '' : ` since ${clockText(Date.parse(since))}`;
      const why = reason === undefined ? '' : ` (${reason})`;
      const where = `on ${count} of ${plural(gateways.answered, 'gateway')}`;
      return {
        text: `The store fails${when}${why}: ${WITHOUT_STORE[state]}, ${where}.`,
        tone: state === 'local' ? 'warning' : 'bad',
      };
    });
}

function silentGateways({ gateways: { asked, answered } }: Overview): Statement[] {
  if (answered >= asked) return [];
  const text = `${asked - answered} of ${plural(asked, 'gateway')} did not answer: numbers are too low.`;
  return [{ text, tone: 'bad' }];
}

function policyFileFaults({ policy_file: { digests, refused } }: Overview): Statement[] {
  const faults: Statement[] = [];
  if (refused !== undefined) {
    const at = clockText(Date.parse(refused.at));
    const [mistake = ''] = refused.mistakes;
    const text = `A policy file was refused at ${at}, the one before stays: ${mistake}`;
    faults.push({ text, tone: 'bad' });
  }
  if (digests.length > 1) {
    const text = `The gateways use ${digests.length} different policy files.`;
    faults.push({ text, tone: 'warning' });
  }
  return faults;
}

function refusedCaller({ refused_caller: found }: Overview): Statement[] {
  if (found === undefined) return [];
  const at = clockText(Date.parse(found.last));
  const text = `Calls without the right secret get 403, the last at ${at}. If your proxy sent them, so do all of its clients: compare HEADGATE_PROXY_SECRET with its X-Headgate-Secret.`;
  return [{ text, tone: 'bad' }];
}

function untrustedProxy({ untrusted_proxy: found, gateways }: Overview): Statement[] {
  if (found === undefined) return [];
  const where = `${found.gateways} of ${plural(gateways.answered, 'gateway')}`;
  const text = `A proxy outside identity.trusted_proxies asks ${where}: all of its clients share the limits of its address. Add the network that it connects from.`;
  return [{ text, tone: 'warning' }];
}
