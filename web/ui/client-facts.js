// @ts-check
/** What is known of one client: the denial of a decision id, its limits and its denials. */
import { h } from './dom.js';
import { table } from './table.js';
import { clientOf, countText, durationText, nameOf, tag, timeOf } from './text.js';

/** @import { Child } from './dom.js' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'decision'>} DenialDetails */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'inspect'>} Inspection */

/** @param {DenialDetails} decision */
export function decisionFacts({
  asked_for: id,
  policy,
  reason,
  mode,
  allows,
  limit,
  identity,
  denials,
  since,
  last,
  until,
  now,
  policy_mode: modeNow,
  came_as: key,
  cause,
  later,
}) {
  /** @param {string} name @param {...Child} content */
  const fact = (name, ...content) =>
    h('div', { key: name }, h('dt', {}, name), h('dd', {}, ...content));
  return h(
    'section',
    { key: 'decision' },
    h('h3', {}, 'Decision ', h('code', {}, id)),
    h(
      'dl',
      {},
      fact(
        mode === 'shadow' ? 'Would be denied by' : 'Denied by',
        nameOf(policy),
        `: ${reason}`,
        modeNow !== undefined &&
          modeNow !== 'enforce' && [' ', h('span', { class: 'tag' }, `${modeNow} now`)],
      ),
      cause !== undefined && fact('Cause', h('bdi', {}, cause)),
      allows !== undefined && fact('Limit', limit !== undefined && [nameOf(limit), ': '], allows),
      fact(
        'Identified by',
        identity,
        key !== undefined && [', sent the unlisted key ', nameOf(key)],
      ),
      fact('Denials', countText(denials)),
      fact('Since', timeOf(since)),
      fact('Last', timeOf(last)),
      until !== undefined && fact('Until', timeOf(until)),
      until === undefined && limit !== undefined && fact('Until', 'never allowed'),
      later !== undefined &&
        fact(
          'Later',
          `${countText(later.denials)} by the same policy, the last `,
          decisionOf(later.decision_id),
          ' ',
          timeOf(later.last),
        ),
      now !== undefined &&
        fact(
          'Now',
          `${countText(now.remaining)} remaining; next request allowed ${nextText(now.retry_after_ms)}`,
        ),
    ),
  );
}

/** @param {Inspection} inspection */
export function limits({ limits: rows }) {
  return h(
    'section',
    { key: 'limits' },
    h('h3', {}, 'Limits'),
    table({
      caption: 'Limits of this client',
      empty: 'No limit applies to this client.',
      rows,
      keyOf: ({ policy, limit }) => `${policy} ${limit}`,
      columns: [
        { name: 'Policy', cell: ({ policy }) => nameOf(policy) },
        {
          name: 'Limit',
          cell: ({ limit, policy, allows, mode, is_unsettled: isUnsettled }) => [
            limit !== policy && [nameOf(limit), ': '],
            allows,
            mode !== 'enforce' && [' ', tag(mode)],
            isUnsettled && [' ', tag('no outcomes reported', 'wrong')],
          ],
        },
        {
          name: 'Remaining',
          isNumber: true,
          cell: ({ remaining }) =>
            h('span', { class: remaining === 0 && 'denied' }, countText(remaining)),
        },
        { name: 'Next request', cell: ({ retry_after_ms: ms }) => nextText(ms) },
        {
          name: 'Full again',
          cell: ({ reset_after_ms: ms }) => (ms === 0 ? 'now' : `in ${durationText(ms)}`),
        },
      ],
    }),
  );
}

/** @param {Inspection} inspection */
export function denials({ denials: rows, gateways: { asked, answered } }) {
  return h(
    'section',
    { key: 'denials' },
    h('h3', {}, 'Denials'),
    answered < asked &&
      h('p', { class: 'quiet' }, `${asked - answered} of ${asked} gateways did not answer.`),
    table({
      caption: 'Denials of this client, the last one first',
      empty: 'No gateway remembers a denial of this client.',
      rows,
      keyOf: ({ client, policy, reason }) => `${client} ${policy} ${reason}`,
      columns: [
        { name: 'Denied', cell: clientOf },
        {
          name: 'Policy',
          cell: ({ policy, reason }) => [
            nameOf(policy),
            reason !== 'over_limit' && [' ', tag(reason)],
          ],
        },
        { name: 'Denials', isNumber: true, cell: ({ denials: count }) => countText(count) },
        { name: 'Since (UTC)', cell: ({ since }) => timeOf(since) },
        { name: 'Last', cell: ({ last }) => timeOf(last) },
        { name: 'Until', cell: ({ until }) => until !== undefined && timeOf(until) },
        { name: 'Last decision', cell: ({ decision_id: id }) => decisionOf(id) },
      ],
    }),
  );
}

/** @param {string} id */
function decisionOf(id) {
  return h('a', { href: `#/client/${id}` }, h('code', {}, id));
}

/** @param {number} [ms] absent: no request is ever allowed */
function nextText(ms) {
  if (ms === undefined) return 'never';
  return ms === 0 ? 'now' : `in ${durationText(ms)}`;
}
