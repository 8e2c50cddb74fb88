// @ts-check
/** What the gateways do, and how they are. */
import { actionTable } from './actions.js';
import { chart, minuteTable } from './chart.js';
import { h } from './dom.js';
import { lastMinute } from './headline.js';
import { countOf, countText, nameOf, rateText, shareText, timeOf } from './text.js';

/** @import { Child } from './dom.js' */
/** @import { View } from './page.js' */
/** @import { Overview } from '../../src/operations/schemas/overview.ts' */

/** @type {View} */
export const overviewView = {
  title: 'Overview',
  show: ({ overview }) => [
    h(
      'section',
      { class: 'policies', 'aria-label': 'Policies' },
      ...overview.policies.map((policy) => policyCard(policy, overview)),
    ),
    h('section', {}, h('h3', {}, 'Gateways'), facts(overview)),
    overview.policy_file.refused !== undefined && refusedFile(overview.policy_file.refused),
    h(
      'section',
      {},
      h('h3', {}, 'Last operator actions'),
      actionTable(overview.actions.slice(0, 5)),
    ),
  ],
};

/** @param {Overview['policies'][number]} policy @param {Overview} overview */
function policyCard(policy, overview) {
  const { requests, denials, wouldDeny } = lastMinute(policy, overview.step_ms);
  return h(
    'article',
    { key: policy.name },
    h(
      'h3',
      {},
      nameOf(policy.name),
      policy.mode !== 'enforce' && [' ', h('span', { class: 'tag' }, policy.mode)],
    ),
    h(
      'p',
      { class: 'rates' },
      h('span', {}, h('b', {}, rateText(requests)), ' requests/s'),
      policy.mode === 'shadow'
        ? share({ class: 'shadow', of: wouldDeny, requests, text: 'would be denied/s' })
        : share({ class: 'denied', of: denials, requests, text: 'denied/s' }),
    ),
    chart(policy, overview),
    minuteTable(policy, overview),
  );
}

/** @param {{ class: string, of: number, requests: number, text: string }} rate per second */
function share({ class: name, of, requests, text }) {
  return h(
    'span',
    { class: of > 0 && name },
    h('b', {}, rateText(of)),
    ` ${text} (${shareText(of, requests)})`,
  );
}

/** @param {Overview} overview */
function facts({ gateways, store, policy_file: { digests } }) {
  const { asked, answered, workers } = gateways;
  return h(
    'dl',
    { class: 'lines' },
    fact('They are', [
      answered === asked
        ? countOf(asked, 'gateway')
        : `${countText(answered)} of ${countOf(asked, 'gateway')} answered`,
      `, ${countOf(workers, 'worker')}`,
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
      'Requests are decided',
      ...store.states.map((state) => [
        h('span', { class: state.state === 'enforced' ? undefined : 'tag wrong' }, state.state),
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
