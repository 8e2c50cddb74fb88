/** The section about how high the clients of each limit got. */
import { count, counted, percent } from '../figures.ts';
import type { LimitChart } from '../replay/charts.ts';
import { limitText } from '../replay/row-names.ts';
import { foldedTable, type Html, html, NOTHING, numbers } from './html.ts';
import { type PeakSummary, summaryOf } from './peak-bins.ts';
import { binText, peakPlot } from './peak-plot.ts';

export function peakSection(charts: readonly LimitChart[]): Html {
  const seen = charts.filter(({ peaks }) => peaks.length > 0);
  if (seen.length === 0) return NOTHING;
  return html`<section aria-labelledby="peaks-title">
<h2 id="peaks-title">How close clients come to each limit</h2>
<p>The peak of a client is the most that it asked for within one window of the limit, denied requests included. Clients to the right of the line asked for more than the limit allows at once.</p>
<div class="columns">
${seen.map(limitPeaks)}
</div>
</section>`;
}

function limitPeaks(chart: LimitChart): Html {
  const { label, limit } = chart;
  const summary = summaryOf(chart);
  const rows = summary.bins.filter(({ clients }) => clients > 0);
  return html`<article>
<h3><bdi>${label}</bdi> <small><bdi>${limitText(chart)}</bdi></small></h3>
<p>${overText(summary, limit)} ${spreadText(summary)}</p>
<figure>${peakPlot(summary, limit, `Clients of ${label} by their peaks; the table below has the numbers`)}</figure>
${foldedTable(html`Table: peaks of <bdi>${label}</bdi>`, {
  caption: `Clients by their peaks; the limit is ${count(limit)}`,
  columns: [{ title: 'Peak' }, ...numbers('Clients', 'Share'), { title: 'Limit' }],
  rows: rows.map((bin) => [
    binText(bin),
    count(bin.clients),
    percent(bin.clients, summary.clients),
    bin.isOver ? 'over' : 'within',
  ]),
})}
</article>`;
}

function overText({ over, clients }: PeakSummary, limit: number): string {
  return over === 0
    ? `None of ${counted(clients, 'client')} asked for more than ${count(limit)}.`
    : `${count(over)} of ${counted(clients, 'client')} (${percent(over, clients)}) asked for more than ${count(limit)}.`;
}

function spreadText({ clients, median, p99, highest }: PeakSummary): string {
  if (clients === 1) return `The peak is ${count(highest)}.`;
  return `Half of the clients stay at ${count(median)} or below, 99 of 100 at ${count(p99)} or below; the highest peak is ${count(highest)}.`;
}
