// @ts-check
/** The policies: what they limit, what they did in the last 15 minutes, and their modes, which can be changed temporarily. */
import { call } from './api.js';
import { changeMode, lift } from './changes.js';
import { changeButton } from './dialog.js';
import { h } from './dom.js';
import { table } from './table.js';
import { countText, nameOf, shareText, timeOf } from './text.js';

/** @import { Page, View } from './page.js' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'overview'>} Overview */
/** @import { OverrideReport } from '../../src/gateway/operations/schemas/overrides.ts' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'listOverrides'>} OverrideList */
/** @typedef {Overview['policies'][number]} Policy */

/** @type {readonly OverrideReport[]} */
let overrides = [];

/** @type {View} */
export const policiesView = {
  title: 'Policies',
  async load() {
    /** @type {OverrideList} */
    const answer = await call('GET', 'overrides');
    overrides = answer.overrides;
  },
  show: (page) =>
    table({
      caption: 'Policies, with what they did in the last 15 minutes',
      empty: 'There is no policy.',
      rows: page.overview.policies,
      keyOf: ({ name }) => name,
      columns: [
        { name: 'Policy', cell: ({ name }) => nameOf(name) },
        {
          name: 'Limits',
          cell: ({ limits, plans = [] }) =>
            h(
              'ul',
              { class: 'plain' },
              ...limits.map((limit) => h('li', {}, limit)),
              ...plans.map(({ plan, limits: ofPlan }) =>
                h('li', {}, 'plan ', nameOf(plan), ': ', ofPlan.join('; ')),
              ),
            ),
        },
        { name: 'If the store fails', cell: ({ on_store_failure: mode }) => mode },
        { name: 'Mode', cell: mode },
        {
          name: 'Admitted',
          isNumber: true,
          cell: ({ requests, denials }) => countText(sum(requests) - sum(denials)),
        },
        {
          name: 'Denied',
          isNumber: true,
          cell: ({ requests, denials }) => part(denials, requests),
        },
        {
          name: 'Would deny',
          isNumber: true,
          cell: ({ requests, would_deny: counts }) => part(counts, requests),
        },
        { name: 'Actions', isAction: true, cell: (policy) => actions(page, policy) },
      ],
    }),
};

/** @param {Policy} policy */
function mode({ name, mode: now, mode_of_file: ofFile }) {
  const override = overrideOf(name);
  return [
    now === 'enforce' ? now : h('span', { class: 'tag' }, now),
    now !== ofFile && ` (${ofFile} in the file)`,
    override && [
      h('br'),
      h(
        'small',
        {},
        'until ',
        timeOf(override.until),
        ', by ',
        h('bdi', {}, override.by),
        ': ',
        h('bdi', {}, override.reason),
      ),
    ],
  ];
}

/** @param {Page} page @param {Policy} policy */
function actions({ ask }, { name, mode: now }) {
  const override = overrideOf(name);
  return [
    changeButton('mode', 'Mode…', () => ask(changeMode(name, now))),
    override && [' ', changeButton('restore', 'Restore…', () => ask(lift(override)))],
  ];
}

/** @param {string} policy */
function overrideOf(policy) {
  return overrides.find((each) => each.about === 'policy' && each.policy === policy);
}

/** @param {number[]} counts @param {number[]} requests */
function part(counts, requests) {
  return [countText(sum(counts)), ' ', h('small', {}, shareText(sum(counts), sum(requests)))];
}

/** @param {number[]} counts */
function sum(counts) {
  return counts.reduce((total, count) => total + count, 0);
}
