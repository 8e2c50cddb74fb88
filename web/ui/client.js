// @ts-check
/**
 * One client, found by whatever an operator has of it. Only a decision id, which is no secret, stands in the address of
 * the page; everything else stays in memory.
 */
import { CallError, call } from './api.js';
import { block, exempt, lift, reset } from './changes.js';
import { field } from './dialog.js';
import { h } from './dom.js';
import { table } from './table.js';
import {
  clientOf,
  clientText,
  countText,
  durationText,
  effectText,
  nameOf,
  timeOf,
} from './text.js';

/** @import { Child } from './dom.js' */
/** @import { Page, View } from './page.js' */
/** @import { DenialDetails } from '../../src/operations/schemas/denials.ts' */
/** @import { Inspection } from '../../src/operations/schemas/inspect.ts' */
/** @import { OverrideReport } from '../../src/operations/schemas/overrides.ts' */
/**
 * @typedef {{ override: OverrideReport, ended_at: string, ended_by?: string | undefined }} EndedOverride
 * @typedef {DenialDetails & { ended_override?: EndedOverride | undefined }} Decision
 */

const DECISION_ID = /^[0-9a-f]{12}-\d+$/;

/** What was looked up, and what was found. */
let text = '';
/** @type {Inspection | undefined} */
let inspection;
/** @type {Decision | undefined} */
let decision;
/** @type {string[]} */
let failures = [];

/** @type {View} */
export const clientView = {
  title: 'Client',
  load,
  show(page) {
    // Never what was found of another client.
    follow(page.parameter);
    return [
      lookup(page),
      failures.map((failure) => h('p', { role: 'alert', class: 'failure' }, failure)),
      found(page),
    ];
  },
};

/** @param {Page} page */
async function load({ parameter }) {
  follow(parameter);
  const asked = text;
  if (asked === '') return;
  const [inspected, decided] = await Promise.allSettled([
    call('POST', 'clients/inspect', { client: asked }),
    DECISION_ID.test(asked) ? call('GET', `decisions/${asked}`) : undefined,
  ]);
  if (asked !== text) return;
  const errors = [inspected, decided].flatMap((each) =>
    each.status === 'rejected' ? each.reason : [],
  );
  const passing = errors.find((error) => !(error instanceof CallError) || !isAboutClient(error));
  if (passing !== undefined) throw passing;
  // What was known of the client stays while the store is away.
  inspection = inspected.status === 'fulfilled' ? inspected.value : keptFrom(inspection, errors);
  decision = decided.status === 'fulfilled' ? decided.value : keptFrom(decision, errors);
  failures = [...new Set(errors.map(({ message }) => message))];
}

/**
 * @template T
 * @param {T | undefined} known
 * @param {CallError[]} errors
 */
function keptFrom(known, errors) {
  return errors.some(({ code }) => code === 'store_unavailable') ? known : undefined;
}

/** @param {CallError} error */
function isAboutClient({ code }) {
  return ['invalid', 'not_found', 'store_unavailable'].includes(code);
}

/** Looks up the decision in the address of the page. @param {string} parameter */
function follow(parameter) {
  if (DECISION_ID.test(parameter) && parameter !== text) lookUp(parameter);
}

/** @param {string} wanted */
function lookUp(wanted) {
  text = wanted;
  inspection = undefined;
  decision = undefined;
  failures = [];
}

/** @param {Page} page */
function lookup({ refresh, redraw, parameter }) {
  return h(
    'form',
    {
      class: 'tools lookup',
      autocomplete: 'off',
      onsubmit(/** @type {SubmitEvent} */ event) {
        event.preventDefault();
        const input = /** @type {HTMLInputElement} */ (
          /** @type {HTMLFormElement} */ (event.target).elements.namedItem('client')
        );
        const wanted = input.value.trim();
        if (wanted === '') return;
        lookUp(wanted);
        if (isKey(wanted)) {
          input.value = '';
          input.type = 'text';
        }
        const address = DECISION_ID.test(wanted) ? `#/client/${wanted}` : '#/client';
        if (location.hash !== address) location.hash = address;
        redraw();
        refresh();
      },
    },
    field(
      'Decision id, address, client of the log, id:ID, user:USER, or key:KEY',
      h('input', {
        name: 'client',
        value: DECISION_ID.test(parameter) ? parameter : isKey(text) ? '' : text,
        spellcheck: 'false',
        autocapitalize: 'off',
        autocomplete: 'off',
        maxlength: 8192,
        oninput: (/** @type {InputEvent} */ event) =>
          hideKey(/** @type {HTMLInputElement} */ (event.target)),
      }),
    ),
    h('button', { type: 'submit' }, 'Show'),
  );
}

/** @param {string} written */
function isKey(written) {
  return /^\s*key:/.test(written);
}

/** Hides a key while it is typed. @param {HTMLInputElement} input */
function hideKey(input) {
  const type = isKey(input.value) ? 'password' : 'text';
  if (input.type === type) return;
  const { selectionStart, selectionEnd } = input;
  input.type = type;
  input.setSelectionRange(selectionStart, selectionEnd);
}

/** @param {Page} page @returns {Child} */
function found(page) {
  if (text === '')
    return h(
      'p',
      { class: 'quiet' },
      'A decision id is in X-RateLimit-Decision-Id, in the body of a 429, and in the log.',
    );
  const client = inspection ?? decision;
  if (client === undefined) return failures.length === 0 && h('p', {}, 'Asking the gateway.');
  const overrides = inspection?.overrides ?? [decision?.override ?? []].flat();
  return [
    h('h3', { class: 'who' }, clientOf(client)),
    h('p', { class: 'buttons' }, actions(page, client)),
    overrides.length === 0
      ? h('p', { key: 'none', class: 'quiet' }, 'No override applies to this client.')
      : h('ul', { class: 'plain' }, ...overrides.map((report) => overrideLine(page, report))),
    decision?.ended_override && endedLine(decision.ended_override),
    decision && decisionFacts(decision),
    inspection && limits(inspection),
  ];
}

/** @param {Page} page @param {Inspection | Decision} found @returns {Child} */
function actions({ ask, overview }, found) {
  const about = { client: text, shown: clientText(found) };
  const policies = overview.policies.map((policy) => policy.name);
  return [
    h(
      'button',
      { type: 'button', key: 'reset', class: 'small', onclick: () => ask(reset(about, policies)) },
      'Reset…',
    ),
    ' ',
    h(
      'button',
      { type: 'button', key: 'block', class: 'small', onclick: () => ask(block(about)) },
      'Block…',
    ),
    ' ',
    h(
      'button',
      { type: 'button', key: 'exempt', class: 'small', onclick: () => ask(exempt(about)) },
      'Exempt…',
    ),
  ];
}

/** @param {Page} page @param {OverrideReport} report */
function overrideLine({ ask }, report) {
  return h(
    'li',
    { key: `${report.about} ${report.since}` },
    h('span', { class: 'tag wrong' }, effectText(report)),
    ' by ',
    h('bdi', {}, report.by),
    ' since ',
    timeOf(report.since),
    ', until ',
    timeOf(report.until),
    ': ',
    h('q', {}, h('bdi', {}, report.reason)),
    ' ',
    h('button', { type: 'button', class: 'small', onclick: () => ask(lift(report)) }, 'Lift…'),
  );
}

/** @param {EndedOverride} ended */
function endedLine({ override, ended_at: at, ended_by: by }) {
  return h(
    'p',
    { key: 'ended', class: 'quiet' },
    `Was ${effectText(override)} by `,
    h('bdi', {}, override.by),
    ' since ',
    timeOf(override.since),
    ', until ',
    timeOf(at),
    by === undefined ? ', when it expired' : [', when ', h('bdi', {}, by), ' ended it'],
    ': ',
    h('q', {}, h('bdi', {}, override.reason)),
  );
}

/** @param {DenialDetails} decision */
function decisionFacts({
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
      allows !== undefined && fact('Limit', limit !== undefined && [nameOf(limit), ': '], allows),
      fact('Identified by', identity, key !== undefined && [', sent the key ', nameOf(key)]),
      fact('Denials', countText(denials)),
      fact('Since', timeOf(since)),
      fact('Last', timeOf(last)),
      until !== undefined && fact('Until', timeOf(until)),
      until === undefined && limit !== undefined && fact('Until', 'never allowed'),
      now !== undefined &&
        fact(
          'Now',
          `${countText(now.remaining)} remaining; next request allowed ${nextText(now.retry_after_ms)}`,
        ),
    ),
  );
}

/** @param {Inspection} inspection */
function limits({ limits: rows }) {
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
          cell: ({ limit, policy, allows }) => [limit !== policy && [nameOf(limit), ': '], allows],
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

/** @param {number} [ms] absent: no request is ever allowed */
function nextText(ms) {
  if (ms === undefined) return 'never';
  return ms === 0 ? 'now' : `in ${durationText(ms)}`;
}
