/** Tables of a page. */
import { type Content, type Html, html } from './html.ts';

export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
}

export interface Table {
  readonly caption: Content;
  readonly columns: readonly Column[];
  /** The first cell of a row is its heading. */
  readonly rows: readonly (readonly Content[])[];
}

export const numbers = (...titles: readonly string[]): Column[] =>
  titles.map((title) => ({ title, isNumber: true }));

/** Wide tables scroll, also by keyboard. */
export function tableOf({ caption, columns, rows }: Table): Html {
  return html`<div class="scroll" tabindex="0"><table>
<caption>${caption}</caption>
<thead><tr>${columns.map((each) => html`<th scope="col"${classOf(each)}>${each.title}</th>`)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${row.map((cell, i) => cellOf(cell, i, columns[i]))}</tr>\n`)}</tbody>
</table></div>`;
}

export function foldedTable(summary: Content, table: Table): Html {
  return html`<details><summary>${summary}</summary>${tableOf(table)}</details>`;
}

function cellOf(cell: Content, index: number, column: Column | undefined): Html {
  return index === 0
    ? html`<th scope="row"${classOf(column)}>${cell}</th>`
    : html`<td${classOf(column)}>${cell}</td>`;
}

function classOf(column: Column | undefined): Html {
  return column?.isNumber === true ? html` class="number"` : html``;
}
