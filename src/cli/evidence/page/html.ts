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
