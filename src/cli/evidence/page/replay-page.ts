/** The page of a replay: the answer first, then where and when, who, and what the log cannot tell. */
import { count, counted, percent, timeText } from '../figures.ts';
import type { ReplayCharts } from '../replay/charts.ts';
import type { ReplayReport } from '../replay/report.ts';
import { clientSection, differenceSection } from './client-section.ts';
import { documentOf } from './document.ts';
import { type Html, html } from './html.ts';
import { logSection, notesSection } from './log-section.ts';
import { peakSection } from './peak-section.ts';
import { policySection } from './policy-section.ts';
import { timeSection } from './time-section.ts';
import { timeSeriesOf } from './time-series.ts';

export function replayPage(report: ReplayReport, charts: ReplayCharts): string {
  const series = timeSeriesOf(charts.policies);
  const { requests, policies } = report;
  const shadow = new Set(policies.filter(({ mode }) => mode === 'shadow').map(({ name }) => name));
  const title = `Replay: ${count(requests.denied)} of ${count(requests.decided)} requests denied`;
  const body = html`${heading(report)}
<main>
${differenceSection(report.difference)}
${policySection(report)}
${timeSection({ charts: charts.policies, series, shadow })}
${peakSection(charts.limits)}
${clientSection(report.clients, requests.denied_clients)}
${logSection(report)}
${notesSection(report.notes)}
</main>`;
  return documentOf(title, body, series ?? null);
}

function heading({ log, lines, requests, difference }: ReplayReport): Html {
  const { decided, denied, clients, denied_clients: deniedClients } = requests;
  const withShadow = requests.denied_with_shadow;
  return html`<header>
<p class="kind">headgate replay</p>
<h1><strong>${count(denied)}</strong> of ${count(decided)} requests denied; <strong>${count(deniedClients)}</strong> of ${count(clients)} clients</h1>
<p class="lead">That is ${percent(denied, decided)} of the requests and ${percent(deniedClients, clients)} of the clients.${
    withShadow === denied
      ? ''
      : ` With policies in shadow mode, ${changeText(withShadow, requests.denied_clients_with_shadow)} would be denied.`
  }${
    difference === undefined
      ? ''
      : ` Compared with the old policy file, ${changeText(difference.newly_denied_requests, difference.newly_denied_clients)} are newly denied, and ${changeText(difference.newly_allowed_requests, difference.newly_allowed_clients)} newly allowed.`
  }</p>
<dl>
<div><dt>Log</dt><dd>${log.sources.map((source, i) => html`${i === 0 ? '' : ', '}<bdi>${source}</bdi>`)}</dd></div>
<div><dt>Format</dt><dd><bdi>${log.format}</bdi></dd></div>
<div><dt>Time</dt><dd>${log.from === null ? 'no requests' : `${timeText(log.from)} to ${timeText(log.to)} UTC`}</dd></div>
<div><dt>Lines</dt><dd>${count(lines.understood)} of ${count(lines.read)} understood</dd></div>
</dl>
</header>`;
}

function changeText(requests: number, clients: number): string {
  return requests === 0
    ? 'no requests'
    : `${counted(requests, 'request')} of ${counted(clients, 'client')}`;
}
