// @ts-check
/** The API keys that the store keeps. */
import { call } from './api.js';
import { changeButton } from './dialog.js';
import { h } from './dom.js';
import { add, changeBlock, changePlan, revoke } from './key-changes.js';
import { table } from './table.js';
import { nameOf, tag, timeOf } from './text.js';

/** @import { Page, View } from './page.js' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'listKeys'>} KeyList */

const AT_ONCE = 50;

/** @type {KeyList | undefined} */
let list;
/** Where the page begins. @type {string | undefined} */
let after;
/** The key that was added last, until it is hidden. @type {{ id: string, key: string } | undefined} */
let made;

/** @type {View} */
export const keysView = {
  title: 'Keys',
  async load() {
    const from = after;
    const query = new URLSearchParams({ count: String(AT_ONCE), ...(from && { after: from }) });
    /** @type {KeyList} */
    const answer = await call('GET', `keys?${query}`);
    if (from === after) list = answer;
  },
  show: (page) =>
    list !== undefined && [
      h(
        'p',
        { class: 'buttons' },
        changeButton('add', 'Add a key…', () => page.ask(add(keep))),
      ),
      made && newKey(page, made),
      ...list.warnings.map((text) => h('p', { class: 'quiet' }, text)),
      rows(page, list),
      pages(page, list),
    ],
};

/** @param {string} id @param {string} key */
function keep(id, key) {
  made = { id, key };
}

/** @param {Page} page @param {{ id: string, key: string }} made */
function newKey({ redraw }, { id, key }) {
  const hide = () => {
    made = undefined;
    redraw();
  };
  return h(
    'section',
    { key: 'made', 'aria-label': 'The new key' },
    h('p', {}, 'The key of ', nameOf(`id:${id}`), '. It is not shown again:'),
    h('p', {}, h('code', {}, key), ' ', changeButton('hide', 'Hide', hide)),
  );
}

/** @param {Page} page @param {KeyList} list */
function rows({ ask }, { keys }) {
  return table({
    caption: 'Keys that the store keeps, in the order of their ids',
    empty: after === undefined ? 'The store has no key.' : 'There are no more keys.',
    rows: keys,
    keyOf: ({ sha256 }) => sha256,
    columns: [
      { name: 'Id', cell: ({ id }) => nameOf(id) },
      { name: 'SHA-256', cell: ({ sha256 }) => h('code', {}, sha256.slice(0, 12)) },
      { name: 'Plan', cell: ({ plan }) => plan !== undefined && nameOf(plan) },
      {
        name: 'State',
        cell: ({ state }) => (state === 'valid' ? state : tag(state, 'wrong')),
      },
      { name: 'Ends', cell: ({ ends }) => (ends === undefined ? 'never' : timeOf(ends)) },
      { name: 'Added', cell: ({ added }) => timeOf(added) },
      { name: 'Comment', cell: ({ comment }) => comment !== undefined && h('bdi', {}, comment) },
      {
        name: 'Actions',
        isAction: true,
        cell: (key) => [
          changeButton('plan', 'Plan…', () => ask(changePlan(key))),
          ' ',
          changeButton('block', key.state === 'blocked' ? 'Unblock…' : 'Block…', () =>
            ask(changeBlock(key)),
          ),
          ' ',
          changeButton('revoke', 'Revoke…', () => ask(revoke(key))),
        ],
      },
    ],
  });
}

/** @param {Page} page @param {KeyList} list */
function pages({ refresh }, { next }) {
  /** @param {string | undefined} place */
  const goTo = (place) => () => {
    after = place;
    refresh();
  };
  return h(
    'p',
    { class: 'buttons' },
    after !== undefined && changeButton('first', 'First page', goTo(undefined)),
    ' ',
    next !== undefined && changeButton('next', 'Next page', goTo(next)),
  );
}
