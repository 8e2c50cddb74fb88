// @ts-check
/** The last actions of operators. */
import { h } from './dom.js';
import { table } from './table.js';
import { clientOf, timeOf } from './text.js';

/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'overview'>} Overview */

/** @param {Overview['actions']} actions */
export function actionTable(actions) {
  return table({
    caption: 'Last operator actions',
    empty: 'No operator changed anything lately.',
    rows: actions,
    keyOf: ({ at, action, subject }) => `${at} ${action} ${subject}`,
    columns: [
      { name: 'At (UTC)', cell: ({ at }) => timeOf(at) },
      { name: 'Action', cell: ({ action }) => action },
      {
        name: 'Subject',
        cell: ({ subject: client, ...fields }) =>
          client !== undefined && clientOf({ client, ...fields }),
      },
      {
        name: 'Change',
        cell: ({ change, is_confirmed: isConfirmed }) => [
          h('bdi', {}, change),
          !isConfirmed && [' ', h('span', { class: 'tag wrong' }, 'not confirmed')],
        ],
      },
      { name: 'By', cell: ({ by }) => h('bdi', {}, by) },
      { name: 'Reason', cell: ({ reason }) => reason !== undefined && h('bdi', {}, reason) },
    ],
  });
}
