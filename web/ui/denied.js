// @ts-check
/** The clients that were denied in the last five minutes. */
import { call } from './api.js';
import { block, reset } from './changes.js';
import { changeButton, field } from './dialog.js';
import { h } from './dom.js';
import { table } from './table.js';
import { clientOf, clientText, clockOf, countText, nameOf, relativeOf, timeOf } from './text.js';

/** @import { Page, View } from './page.js' */
/** @import { Column, Sorting } from './table.js' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'top'>} DenialList */
/** @typedef {DenialList['clients'][number] & { client_id?: string | undefined, plan?: string | undefined }} Denied */

const MOST = 100;

/** `filter`: what the gateways searched for. @type {(DenialList & { filter: string }) | undefined} */
let list;
let isShadow = false;
let filter = '';
/** @type {Sorting} */
let sorting = { by: 'Denials', isDown: true };

/** @type {View} */
export const deniedView = {
  title: 'Denied now',
  async load() {
    const asked = { limit: MOST, shadow: isShadow, filter };
    const clients = await call('POST', 'clients/denied', asked);
    if (asked.shadow === isShadow) list = { ...clients, filter: asked.filter };
  },
  show: (page) => [
    tools(page),
    list === undefined ? h('p', {}, 'Waiting for the gateway.') : found(page, list),
  ],
};

/** @param {Page} page */
function tools({ redraw, refresh }) {
  return h(
    'form',
    { class: 'tools', onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
    field(
      'Filter',
      h('input', {
        type: 'search',
        value: filter,
        maxlength: 256,
        placeholder: 'address, client, policy, reason or decision id',
        oninput(/** @type {InputEvent} */ event) {
          filter = /** @type {HTMLInputElement} */ (event.target).value.trim();
          redraw();
          refresh();
        },
      }),
    ),
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        checked: isShadow,
        onchange(/** @type {Event} */ event) {
          isShadow = /** @type {HTMLInputElement} */ (event.target).checked;
          list = undefined;
          redraw();
          refresh();
        },
      }),
      h('span', {}, 'Would be denied (policies in shadow mode)'),
    ),
  );
}

/** @param {Page} page @param {DenialList & { filter: string }} list */
function found(page, { clients, gateways: { asked, answered }, filter: searched }) {
  const isSearching = searched !== filter;
  const rows = isSearching ? clients.filter(matches) : clients;
  return [
    answered < asked &&
      h('p', { class: 'quiet' }, `${asked - answered} of ${asked} gateways did not answer.`),
    table({
      caption: 'Denied clients',
      empty:
        filter !== ''
          ? isSearching
            ? 'Searching.'
            : `No client that ${isShadow ? 'would have been' : 'was'} denied in the last five minutes matches the filter.`
          : `No client ${isShadow ? 'would have been' : 'was'} denied in the last five minutes.`,
      rows,
      keyOf: ({ client, policy, reason }) => `${client} ${policy} ${reason}`,
      columns: columns(page),
      sorting,
      onSort(wanted) {
        sorting = wanted;
        page.redraw();
      },
    }),
    clients.length === MOST &&
      h(
        'p',
        { class: 'quiet' },
        `These are the ${MOST} with the most denials. The filter searches all that were denied in the last five minutes.`,
      ),
  ];
}

/** While the gateways search. @param {Denied} denied */
function matches({ client, client_id: id, plan, policy, reason, decision_id: decision }) {
  return [client, id, plan, policy, reason, decision].some((text) =>
    text?.toLowerCase().includes(filter.toLowerCase()),
  );
}

/** @param {Denied} denied */
function placeOf({ listed_at: place }) {
  return place !== undefined && [', ', h('bdi', {}, place)];
}

/** @param {Page} page @returns {Column<Denied>[]} */
function columns({ ask, overview }) {
  const policies = overview.policies.map(({ name }) => name);
  return [
    { name: 'Client', cell: clientOf, order: clientText },
    {
      name: 'Policy',
      cell: ({ policy, reason }) => [
        nameOf(policy),
        reason !== 'over_limit' && [' ', h('span', { class: 'tag' }, reason)],
      ],
      order: ({ policy, reason }) => `${policy} ${reason}`,
    },
    {
      name: 'Denials',
      isNumber: true,
      cell: ({ denials }) => countText(denials),
      order: ({ denials }) => denials,
    },
    { name: 'Since (UTC)', cell: ({ since }) => clockOf(since), order: ({ since }) => since },
    { name: 'Last', cell: ({ last }) => relativeOf(last), order: ({ last }) => last },
    {
      name: 'Until',
      cell: ({ until, limit }) =>
        until === undefined ? limit !== undefined && 'never allowed' : timeOf(until),
      order: ({ until = '' }) => until,
    },
    {
      name: 'Last decision',
      cell: ({ decision_id: id }) => h('a', { href: `#/client/${id}` }, h('code', {}, id)),
    },
    {
      name: 'Actions',
      isAction: true,
      cell: (denied) => {
        // It has no counters to reset.
        if (denied.listed?.applies === true)
          return h('span', { class: 'quiet said' }, 'blocked by the policy file', placeOf(denied));
        const about = { client: denied.decision_id, shown: clientText(denied) };
        return [
          changeButton('reset', 'Reset…', () => ask(reset(about, policies))),
          ' ',
          changeButton('block', 'Block…', () => ask(block(about))),
        ];
      },
    },
  ];
}
