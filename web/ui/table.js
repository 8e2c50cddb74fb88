// @ts-check
/** Tables whose rows keep their identity from one poll to the next. On a narrow screen each row becomes a block. */
import { h } from './dom.js';

/** @import { Child } from './dom.js' */

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} name
 * @property {(row: Row) => Child} cell
 * @property {(row: Row) => string | number} [order] lets people sort by it
 * @property {boolean} [isNumber]
 * @property {boolean} [isAction] has buttons, and no name that is shown
 */

/** @typedef {{ by: string, isDown: boolean }} Sorting */

/**
 * Roles are written out, because a table that is shown as blocks loses its own.
 * @template Row
 * @param {object} options
 * @param {string} options.caption
 * @param {Column<Row>[]} options.columns
 * @param {readonly Row[]} options.rows
 * @param {(row: Row) => string} options.keyOf
 * @param {string} options.empty said if there is no row
 * @param {Sorting} [options.sorting]
 * @param {(sorting: Sorting) => void} [options.onSort]
 * @returns {Child}
 */
export function table({ caption, columns, rows, keyOf, empty, sorting, onSort }) {
  if (rows.length === 0) return h('p', { class: 'quiet' }, empty);
  return h(
    'table',
    { role: 'table', class: 'rows' },
    h('caption', { class: 'unseen' }, caption),
    h(
      'thead',
      { role: 'rowgroup' },
      h('tr', { role: 'row' }, ...columns.map((column) => head(column, sorting, onSort))),
    ),
    h(
      'tbody',
      { role: 'rowgroup' },
      ...sorted(rows, columns, sorting).map((row) =>
        h('tr', { role: 'row', key: keyOf(row) }, ...columns.map((column) => cell(column, row))),
      ),
    ),
  );
}

/**
 * @template Row
 * @param {Column<Row>} column
 * @param {Sorting | undefined} sorting
 * @param {((sorting: Sorting) => void) | undefined} onSort
 */
function head({ name, order, isNumber, isAction }, sorting, onSort) {
  const isSorted = sorting?.by === name;
  const direction = sorting?.isDown ? 'descending' : 'ascending';
  const sort = () => onSort?.({ by: name, isDown: isSorted ? !sorting.isDown : isNumber === true });
  return h(
    'th',
    {
      role: 'columnheader',
      scope: 'col',
      class: isNumber && 'number',
      'aria-sort': isSorted && direction,
    },
    isAction === true
      ? h('span', { class: 'unseen' }, name)
      : order !== undefined && onSort !== undefined
        ? h(
            'button',
            { type: 'button', class: 'sort', onclick: sort },
            name,
            h('span', { 'aria-hidden': 'true' }, isSorted ? (sorting.isDown ? ' ↓' : ' ↑') : ''),
          )
        : name,
  );
}

/**
 * @template Row
 * @param {Column<Row>} column
 * @param {Row} row
 */
function cell({ name, cell: content, isNumber, isAction }, row) {
  const kind = isAction ? 'actions' : isNumber ? 'number' : undefined;
  return h(
    'td',
    { role: 'cell', class: kind, 'data-name': isAction ? undefined : name },
    content(row),
  );
}

/**
 * @template Row
 * @param {readonly Row[]} rows
 * @param {Column<Row>[]} columns
 * @param {Sorting | undefined} sorting
 */
function sorted(rows, columns, sorting) {
  const order = columns.find(({ name }) => name === sorting?.by)?.order;
  if (order === undefined) return rows;
  const sign = sorting?.isDown ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [x, y] = [order(a), order(b)];
    return x === y ? 0 : x < y ? -sign : sign;
  });
}
