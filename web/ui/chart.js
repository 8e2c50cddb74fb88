// @ts-check
/** A small chart of the requests and denials of a policy, and the same as a table by minute. */
import { h } from './dom.js';
import { countText, rateText } from './text.js';

/** @import { Child } from './dom.js' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'overview'>} Overview */
/** @typedef {Overview['without_policy']} Series */

const WIDTH = 360;
const HEIGHT = 48;
const MINUTE = 60_000;

/**
 * @param {string} name
 * @param {Series} series
 * @param {Overview} overview
 * @returns {Child}
 */
export function chart(name, { requests, denials, would_deny: wouldDeny }, { step_ms: stepMs }) {
  const most = Math.max(1, ...requests);
  const perSecond = (most / stepMs) * 1_000;
  const minutes = Math.round((requests.length * stepMs) / MINUTE);
  const peak = `at most ${rateText(most === 1 && !requests.includes(1) ? 0 : perSecond)} requests/s`;
  return h(
    'figure',
    {},
    h(
      'svg',
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': `Requests and denials to ${name} in ${minutes} minutes, ${peak}`,
      },
      h('path', { class: 'requests', d: area(requests, most) }),
      h('path', { class: 'would-deny', d: area(wouldDeny, most) }),
      h('path', { class: 'denials', d: area(denials, most) }),
    ),
    h(
      'figcaption',
      {},
      h('span', {}, `${minutes} min ago`),
      h('span', {}, peak),
      h('span', {}, 'now'),
    ),
  );
}

/** Steps from the ground up. @param {number[]} counts @param {number} most */
function area(counts, most) {
  if (counts.every((count) => count === 0)) return '';
  const width = WIDTH / counts.length;
  const steps = counts.map((count, i) => {
    const y = (HEIGHT - (count / most) * (HEIGHT - 1)).toFixed(1);
    return `V${y}H${((i + 1) * width).toFixed(1)}`;
  });
  return `M0 ${HEIGHT}${steps.join('')}V${HEIGHT}Z`;
}

/**
 * @param {string} name
 * @param {Series} series
 * @param {Overview} overview
 * @returns {Child}
 */
export function minuteTable(name, { requests, denials, would_deny: wouldDeny }, overview) {
  const { step_ms: stepMs, until } = overview;
  const endMs = Date.parse(until);
  const perRow = Math.max(1, Math.round(MINUTE / stepMs));
  const rows = [];
  for (let end = requests.length; end > 0; end -= perRow) {
    const start = Math.max(0, end - perRow);
    const startMs = endMs - (requests.length - start) * stepMs;
    /** @param {number[]} counts */
    const sum = (counts) => counts.slice(start, end).reduce((total, count) => total + count, 0);
    rows.push([startMs, sum(requests), sum(denials), sum(wouldDeny)]);
  }
  return h(
    'details',
    {},
    h('summary', {}, 'By minute', h('span', { class: 'unseen' }, `: ${name}`)),
    h(
      'table',
      { class: 'minutes' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          ...['From (UTC)', 'Requests', 'Denied', 'Would deny'].map((head) =>
            h('th', { scope: 'col' }, head),
          ),
        ),
      ),
      h(
        'tbody',
        {},
        ...rows.map(([startMs = 0, ...counts]) =>
          h(
            'tr',
            { key: startMs },
            h('th', { scope: 'row' }, new Date(startMs).toISOString().slice(11, 16)),
            ...counts.map((count) => h('td', {}, countText(count))),
          ),
        ),
      ),
    ),
  );
}
