/** The section with the numbers of each policy and its limits. */
import { busiestText, count, percent, timeText } from '../figures.ts';
import type { CountsReport, ReplayReport } from '../replay/report.ts';
import { limitText, refusalText } from '../replay/row-names.ts';
import { type Column, type Content, type Html, headOf, html, numbers } from './html.ts';

const COLUMNS: readonly Column[] = [
  { title: 'Policy and limits' },
  { title: 'Mode' },
  ...numbers('Requests', 'Clients', 'Denied', 'Share', 'Denied clients'),
  { title: 'First denial' },
  { title: 'Last denial' },
  { title: 'Busiest minute' },
];
const BEFORE_DENIED = 4;

export function policySection({ policies, refused }: ReplayReport): Html {
  return html`<section aria-labelledby="policies-title">
<h2 id="policies-title">Policies</h2>
<p>Times are in UTC. In shadow mode, denied requests are those that would have been denied.</p>
<div class="scroll" tabindex="0"><table class="policies">
<caption>Requests and denials of each policy and its limits</caption>
<thead><tr>${COLUMNS.map(headOf)}</tr></thead>
${policies.map(
  (policy) => html`<tbody>
<tr><th scope="row"><bdi>${policy.name}</bdi></th><td>${policy.mode}</td>${cells(policy, policy.denied_requests_at_once)}</tr>
${policy.limits.map((limit) => html`<tr class="limit"><th scope="row"><bdi>${limitText(limit)}</bdi></th><td></td>${cells(limit)}</tr>\n`)}</tbody>
`,
)}<tbody>
${refused.map((refusal) => html`<tr><th scope="row">${refusalText(refusal)}</th><td></td>${cells(refusal)}</tr>\n`)}</tbody>
</table></div>
</section>`;
}

function cells(counts: CountsReport, atOnce?: number): Html[] {
  const { requests, clients, denied_requests: denied } = counts;
  const seen = [count(requests), count(clients)].map(number);
  if (counts.not_evaluated !== undefined) {
    const rest = COLUMNS.length - BEFORE_DENIED;
    const reason = `not evaluated: ${counts.not_evaluated}`;
    return [...seen, html`<td colspan="${rest}" class="quiet">${reason}</td>`];
  }
  const all = denied ?? 0;
  const isUncertain = atOnce !== undefined && atOnce !== all;
  return [
    ...seen,
    html`<td class="number${all > 0 ? ' denied' : ''}">${count(all)}${isUncertain ? html` <small>(at once: ${count(atOnce)})</small>` : ''}</td>`,
    number(percent(all, requests)),
    number(count(counts.denied_clients ?? 0)),
    html`<td class="time">${timeText(counts.first_denial)}</td>`,
    html`<td class="time">${timeText(counts.last_denial)}</td>`,
    html`<td class="time">${busiestText(counts)}</td>`,
  ];
}

function number(text: Content): Html {
  return html`<td class="number">${text}</td>`;
}
