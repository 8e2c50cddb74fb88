// @ts-check
/** What the gateways do, and how they are. */
import { actionTable } from './actions.js';
import { chart, minuteTable } from './chart.js';
import { h } from './dom.js';
import { countOf, countText, nameOf, rateText, shareText, timeOf, timeText } from './text.js';

/** @import { Child } from './dom.js' */
/** @import { Series } from './chart.js' */
/** @import { View } from './page.js' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'overview'>} Overview */

const MOST_ACTIONS = 5;
/** The gateway decides by this. */
const MANY_DENIALS = 'at least 1 denial/s that is 10 % of the requests or more';

/** @type {View} */
export const overviewView = {
  title: 'Overview',
  show: ({ overview }) => [
    h(
      'section',
      { class: 'policies', 'aria-label': 'Policies' },
      overview.policies.map((policy) => policyCard(policy, overview)),
      withoutPolicyCard(overview),
    ),
    overview.policies_left_out !== undefined &&
      h(
        'p',
        { class: 'quiet' },
        `Policies with fewer requests are left out: ${countText(overview.policies_left_out)}.`,
      ),
    legend(overview),
    h('section', {}, h('h3', {}, 'Gateways'), facts(overview)),
    overview.policy_file.refused !== undefined && refusedFile(overview.policy_file.refused),
    h(
      'section',
      {},
      h('h3', {}, 'Last operator actions'),
      actionTable(overview.actions.slice(0, MOST_ACTIONS)),
    ),
  ],
};

/** @param {Overview['policies'][number]} policy @param {Overview} overview */
function policyCard(policy, overview) {
  const { name, mode } = policy;
  return h(
    'article',
    { key: name },
    h('h3', {}, nameOf(name), mode !== 'enforce' && [' ', h('span', { class: 'tag' }, mode)]),
    traffic(name, policy, { overview, isShadow: mode === 'shadow' }),
  );
}

/** Blocked and exempt clients, malformed requests. @param {Overview} overview */
function withoutPolicyCard(overview) {
  const series = overview.without_policy;
  if (series.requests.every((count) => count === 0)) return undefined;
  const name = 'Blocked, exempt or malformed';
  return h(
    'article',
    { key: 'no policy' },
    h('h3', {}, name),
    traffic(name, series, { overview, isShadow: false }),
  );
}

/** @param {string} name @param {Series} series @param {{ overview: Overview, isShadow: boolean }} options */
function traffic(name, series, { overview, isShadow }) {
  const { requests, denials, would_deny: wouldDeny } = series.rates;
  return [
    h(
      'p',
      { class: 'rates' },
      h('span', {}, h('b', {}, rateText(requests)), ' requests/s'),
      isShadow
        ? share({ class: 'shadow', of: wouldDeny, requests, text: '/s would be denied' })
        : share({ class: 'denied', of: denials, requests, text: ' denied/s' }),
    ),
    chart(name, series, overview),
    minuteTable(name, series, overview),
  ];
}

/** What the colours mean, and of which time the rates are the mean. @param {Overview} overview */
function legend({ rate_ms: rateMs, step_ms: stepMs, until }) {
  /** @param {string} name @param {string} text */
  const colour = (name, text) => h('li', { key: name }, h('i', { class: `swatch ${name}` }), text);
  return h(
    'section',
    { class: 'legend', 'aria-label': 'Legend' },
    h(
      'p',
      {},
      `Rates are the mean of the last ${rateMs / 1_000} s, until `,
      h('time', { datetime: until }, timeText(until)),
      `. Charts have a bar for each ${stepMs / 1_000} s.`,
    ),
    h(
      'ul',
      {},
      colour('requests', 'requests'),
      colour('denials', 'of them denied'),
      colour('would-deny', 'would be denied: the policy is in shadow mode'),
      colour('well', 'all is well'),
      colour('warning', `worth a look, such as ${MANY_DENIALS}`),
      colour('wrong', 'limits are not counted as the policy file says, or clients get 403'),
    ),
  );
}

/** @param {{ class: string, of: number, requests: number, text: string }} rate per second */
function share({ class: name, of, requests, text }) {
  return h(
    'span',
    { class: of > 0 && name },
    h('b', {}, rateText(of)),
    `${text} (${shareText(of, requests)})`,
  );
}

/** @param {Overview} overview */
function facts({ gateways, store, policy_file: { digests } }) {
  const { asked, answered, workers } = gateways;
  return h(
    'dl',
    { class: 'lines' },
    fact('Running', [
      answered < asked
        ? `${countText(answered)} of ${countOf(asked, 'gateway')} answered`
        : countOf(answered, workers === answered ? 'worker' : 'gateway'),
      workers > 0 && workers < answered && `, ${countText(workers)} of them workers`,
    ]),
    fact(
      'Limits are counted in',
      store.kind === 'memory'
        ? 'memory, by each gateway for itself'
        : store.version === undefined
          ? 'Redis'
          : `Redis ${store.version}`,
    ),
    fact(
      'Counting',
      ...store.states.map((state) => [
        stateOf(state),
        ` on ${countOf(state.gateways, 'gateway')}`,
        state.reason !== undefined && ` (${state.reason})`,
        state.since !== undefined && [' since ', timeOf(state.since)],
      ]),
    ),
    fact(
      'Policy file',
      ...digests.map(({ digest, gateways: count, since }) => [
        h('code', { title: digest }, digest.slice(0, 12)),
        ` on ${countOf(count, 'gateway')} since `,
        timeOf(since),
      ]),
    ),
  );
}

/** @param {Overview['store']['states'][number]} state */
function stateOf({ state, lapses }) {
  if (state === 'enforced') return 'normal';
  if (lapses !== undefined) return h('span', { class: 'tag' }, `some ${state}`);
  return h('span', { class: 'tag wrong' }, state);
}

/** @param {string} name @param {...Child} lines */
function fact(name, ...lines) {
  return h('div', { key: name }, h('dt', {}, name), ...lines.map((line) => h('dd', {}, line)));
}

/** @param {NonNullable<Overview['policy_file']['refused']>} refused */
function refusedFile({ at, mistakes }) {
  return h(
    'section',
    { key: 'refused', class: 'refused' },
    h('h3', {}, 'Refused policy file'),
    h('p', {}, 'Refused ', timeOf(at), '. The policy file before it stays in force.'),
    h('ul', {}, ...mistakes.map((mistake) => h('li', {}, h('bdi', {}, mistake)))),
  );
}
