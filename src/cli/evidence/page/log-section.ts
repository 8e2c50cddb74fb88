/** The sections about the log: what was read, what was not understood, and what the numbers do not tell. */
import { count, shortened } from '../figures.ts';
import type { ReplayReport } from '../replay/report.ts';
import { type Html, html, NOTHING, numbers, tableOf } from './html.ts';

const LONGEST_LINE = 300;

export function logSection({ lines, requests }: ReplayReport): Html {
  const facts: readonly (readonly [string, number])[] = [
    ['Lines read', lines.read],
    ['Lines understood', lines.understood],
    ['Lines not understood', lines.not_understood],
    ['Lines out of order, which were put in order', lines.out_of_order],
    ['Lines too late to be put in order, not decided', lines.late],
    ['Requests without the address of a client, not decided', requests.without_address],
    ['Requests answered 429 when they were logged', requests.logged_429],
  ];
  return html`<section aria-labelledby="log-title">
<h2 id="log-title">The log</h2>
<div class="columns">
${tableOf({
  caption: 'What was read',
  columns: [{ title: 'What' }, ...numbers('Number')],
  rows: facts.map(([name, number]) => [name, count(number)]),
})}
${tableOf({
  caption: 'Decided requests by the reason of the decision',
  columns: [{ title: 'Reason' }, ...numbers('Requests')],
  rows: Object.entries(requests.reasons).map(([reason, number]) => [reason, count(number)]),
})}
</div>
${misreadLines(lines.first_not_understood)}
</section>`;
}

function misreadLines(misread: ReplayReport['lines']['first_not_understood']): Html {
  if (misread.length === 0) return NOTHING;
  return tableOf({
    caption: 'The first lines that were not understood',
    columns: [{ title: 'Line' }, { title: 'Field' }, { title: 'Text' }],
    rows: misread.map(({ source, line, field, text }) => [
      html`<bdi>${source}</bdi>:${line}`,
      field,
      html`<code><bdi>${shortened(text, LONGEST_LINE)}</bdi></code>`,
    ]),
  });
}

export function notesSection(notes: readonly string[]): Html {
  if (notes.length === 0) return NOTHING;
  return html`<section aria-labelledby="notes-title">
<h2 id="notes-title">Notes</h2>
<ul>${notes.map((note) => html`<li>${note}</li>\n`)}</ul>
</section>`;
}
