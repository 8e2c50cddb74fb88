/** HTML from templates. Values are text, whatever they contain, unless a template made them. */
import { printable } from '../../../gateway/core/printable.ts';

export class Html {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
}

export type Content = Html | string | number | readonly Content[];

/** Values may stand between tags, and in attributes with double quotes. */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  return new Html(String.raw({ raw: parts }, ...values.map(markupOf)));
}

export const NOTHING = new Html('');

function markupOf(value: Content): string {
  if (value instanceof Html) return value.markup;
  if (typeof value === 'object') return value.map(markupOf).join('');
  return escapeText(printable(String(value)));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '');
}

/** JSON for a script element. `<` could end the element. */
export function jsonForScript(value: unknown): Html {
  return new Html(
    JSON.stringify(value)
      .replaceAll('<', '\\u003c')
      .replaceAll('\u2028', '\\u2028')
      .replaceAll('\u2029', '\\u2029'),
  );
}

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
<thead><tr>${columns.map(headOf)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${row.map((cell, i) => cellOf(cell, i, columns[i]))}</tr>\n`)}</tbody>
</table></div>`;
}

export function headOf(column: Column): Html {
  return html`<th scope="col"${classOf(column)}>${column.title}</th>`;
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
  return column?.isNumber === true ? html` class="number"` : NOTHING;
}
