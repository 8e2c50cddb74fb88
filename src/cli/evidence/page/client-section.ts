/** The sections about clients: those denied most, and those that another policy file treats otherwise. */
import { count, counted, percent } from '../figures.ts';
import type { ClientReport, DifferenceReport } from '../replay/report.ts';
import { deniedByText } from '../replay/row-names.ts';
import {
  type Column,
  type Content,
  foldedTable,
  type Html,
  html,
  NOTHING,
  numbers,
  tableOf,
} from './html.ts';

const SHOWN_CLIENTS = 10;

export function clientSection(clients: readonly ClientReport[], denied: number): Html {
  if (clients.length === 0) return NOTHING;
  const listed = clients.length < denied ? `The first ${count(clients.length)} of` : 'All';
  return html`<section aria-labelledby="clients-title">
<h2 id="clients-title">Clients denied most</h2>
<p>${denied === 1 ? 'One client was denied.' : `${listed} ${count(denied)} clients that were denied.`}</p>
${clientTables({
  caption: 'Clients with the most denied requests',
  last: 'Denied',
  rows: clients.map((each) => ({ ...each, part: each.denied_requests })),
})}
</section>`;
}

export function differenceSection(difference: DifferenceReport | undefined): Html {
  if (difference === undefined) return NOTHING;
  return html`<section aria-labelledby="difference-title">
<h2 id="difference-title">What the new policy file changes</h2>
<div class="columns">
${changes(difference, 'newly_denied')}
${changes(difference, 'newly_allowed')}
</div>
</section>`;
}

const CHANGES = {
  newly_denied: { title: 'Newly denied', by: 'By the policy of the new file that denies them' },
  newly_allowed: { title: 'Newly allowed', by: 'By the policy of the old file that denied them' },
} as const;

function changes(difference: DifferenceReport, change: keyof typeof CHANGES): Html {
  const { title, by } = CHANGES[change];
  const requests = difference[`${change}_requests`];
  if (requests === 0) return html`<article><h3>${title}</h3><p>No requests.</p></article>`;
  return html`<article>
<h3>${title} <small>${counted(requests, 'request')} of ${counted(difference[`${change}_clients`], 'client')}</small></h3>
${tableOf({
  caption: by,
  columns: [{ title: 'Policy' }, ...numbers('Requests', 'Clients')],
  rows: difference[change].map((each) => [
    bdi(deniedByText(each.policy)),
    count(each.requests),
    count(each.clients),
  ]),
})}
${clientTables({
  caption: `Clients with the most ${title.toLowerCase()} requests`,
  last: title,
  rows: difference[`clients_${change}`].map((each) => ({ ...each, part: each.changed_requests })),
})}
</article>`;
}

interface ClientTables {
  readonly caption: string;
  readonly last: string;
  readonly rows: readonly {
    readonly client: string;
    readonly requests: number;
    readonly part: number;
  }[];
}

function clientTables({ caption, last, rows }: ClientTables): Html {
  const columns: Column[] = [{ title: 'Client' }, ...numbers('Requests', last, 'Share')];
  const cells = rows.map(({ client, requests, part }) => [
    bdi(client),
    count(requests),
    count(part),
    html`${percent(part, requests)} ${shareBar(part, requests)}`,
  ]);
  const rest = { caption: `${caption}, continued`, columns, rows: cells.slice(SHOWN_CLIENTS) };
  return html`${tableOf({ caption, columns, rows: cells.slice(0, SHOWN_CLIENTS) })}
${rest.rows.length === 0 ? NOTHING : foldedTable(`${rest.rows.length} more`, rest)}`;
}

function shareBar(part: number, whole: number): Html {
  const width = whole === 0 ? 0 : Math.round((100 * part) / whole);
  return html`<svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="10"></rect><rect class="over" width="${width}" height="10"></rect></svg>`;
}

function bdi(name: Content): Html {
  return html`<bdi>${name}</bdi>`;
}
