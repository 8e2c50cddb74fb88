// @ts-check
/** The overrides in force, and the last actions of operators. */
import { actionTable } from './actions.js';
import { call } from './api.js';
import { lift } from './changes.js';
import { changeButton } from './dialog.js';
import { h } from './dom.js';
import { table } from './table.js';
import { clientOf, effectText, nameOf, subjectText, timeOf } from './text.js';

/** @import { View } from './page.js' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'listOverrides'>} OverrideList */

/** @type {OverrideList | undefined} */
let list;

/** @type {View} */
export const overridesView = {
  title: 'Overrides',
  async load() {
    list = await call('GET', 'overrides');
  },
  show: ({ ask, overview }) => [
    list !== undefined &&
      table({
        caption: 'Overrides in force',
        empty: 'No override is in force.',
        rows: list.overrides,
        keyOf: (report) => `${report.about} ${subjectText(report)}`,
        columns: [
          {
            name: 'Subject',
            cell: (report) =>
              report.about === 'client' ? clientOf(report) : nameOf(subjectText(report)),
          },
          { name: 'Override', cell: (report) => h('span', { class: 'tag' }, effectText(report)) },
          { name: 'Since (UTC)', cell: ({ since }) => timeOf(since) },
          { name: 'Until', cell: ({ until }) => timeOf(until) },
          { name: 'By', cell: ({ by }) => h('bdi', {}, by) },
          { name: 'Reason', cell: ({ reason }) => h('bdi', {}, reason) },
          {
            name: 'Actions',
            isAction: true,
            cell: (report) => changeButton('lift', 'Lift…', () => ask(lift(report))),
          },
        ],
      }),
    h('section', {}, h('h3', {}, 'Last operator actions'), actionTable(overview.actions)),
  ],
};
