/** The section with the plots over time. The script fills the plots from the series; each has its table. */
import { count, counted, timeText } from '../figures.ts';
import type { PolicyChart } from '../replay/charts.ts';
import { foldedTable, type Html, html, NOTHING, numbers } from './html.ts';
import { type TimeRow, type TimeSeries, timeTableOf } from './time-series.ts';

export interface TimeSection {
  readonly charts: readonly PolicyChart[];
  readonly series: TimeSeries | undefined;
  readonly shadow: ReadonlySet<string>;
}

export function timeSection({ charts, series, shadow }: TimeSection): Html {
  if (series === undefined) return NOTHING;
  const { minutesPerPoint } = series;
  return html`<section id="time" aria-labelledby="time-title">
<h2 id="time-title">Requests and denials over time</h2>
<p>Times are in UTC. ${
    minutesPerPoint === 1
      ? 'There is one point for each minute.'
      : `There is one point for every ${minutesPerPoint} minutes: the busiest of them.`
  }</p>
<noscript><p>The plots need JavaScript. The tables do not.</p></noscript>
${TOOLBAR}
${charts.map((chart, index) => policyPlots(chart, index, shadow.has(chart.name)))}
</section>`;
}

/** Without the script it stays hidden. */
const TOOLBAR = html`<div class="toolbar" role="group" aria-label="Time shown in all plots" hidden>
<button type="button" data-zoom="in">Zoom in</button>
<button type="button" data-zoom="out">Zoom out</button>
<button type="button" data-zoom="earlier">Earlier</button>
<button type="button" data-zoom="later">Later</button>
<button type="button" data-zoom="all">Show all</button>
<span class="hint">or drag over a plot; a double click shows all</span>
<output id="shown"></output>
</div>`;

function policyPlots({ name, minutes }: PolicyChart, index: number, isShadow: boolean): Html {
  const { minutesPerRow, rows } = timeTableOf(minutes);
  const requests = sum(rows, 'requests');
  const denied = sum(rows, 'denied');
  const heading = html`<h3><bdi>${name}</bdi> <small>${counted(requests, 'request')}, ${denied === 0 ? 'none' : count(denied)} ${isShadow ? 'would be denied (shadow mode)' : 'denied'}</small></h3>`;
  if (requests === 0) return html`<article>${heading}</article>`;
  const most = numbers('Most requests in a minute', 'Most denied in a minute');
  return html`<article>
${heading}
${plot('requests', name, index)}
${denied === 0 ? NOTHING : plot('denied', name, index)}
${foldedTable(html`Table: <bdi>${name}</bdi> over time`, {
  caption: `Requests and denials ${minutesPerRow === 1 ? 'of each minute' : `of every ${spanText(minutesPerRow)}`}, where there were any`,
  columns: [
    { title: 'From (UTC)' },
    ...numbers('Requests', 'Denied'),
    ...(minutesPerRow === 1 ? [] : most),
  ],
  rows: rows.map((row) => cellsOf(row).slice(0, minutesPerRow === 1 ? 3 : 5)),
})}
</article>`;
}

const TITLES = { requests: 'Requests per minute', denied: 'Denied requests per minute' };

function plot(kind: keyof typeof TITLES, name: string, index: number): Html {
  return html`<figure>
<figcaption>${TITLES[kind]} <span class="reading"></span></figcaption>
<div class="plot" role="img" aria-label="${TITLES[kind]} of ${name}; the table below has the numbers" data-kind="${kind}" data-policy="${index}"></div>
</figure>`;
}

function cellsOf({ atMs, requests, denied, mostRequests, mostDenied }: TimeRow): string[] {
  const time = timeText(new Date(atMs).toISOString()).slice(0, -3);
  return [time, ...[requests, denied, mostRequests, mostDenied].map(count)];
}

function sum(rows: readonly TimeRow[], key: 'requests' | 'denied'): number {
  return rows.reduce((total, row) => total + row[key], 0);
}

/** `5 minutes`, `2 hours`, `7 days` */
function spanText(minutes: number): string {
  if (minutes >= 1_440) return minutes === 1_440 ? 'day' : `${minutes / 1_440} days`;
  if (minutes >= 60) return minutes === 60 ? 'hour' : `${minutes / 60} hours`;
  return `${minutes} minutes`;
}
