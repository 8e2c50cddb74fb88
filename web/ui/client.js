// @ts-check
/**
 * One client, found by whatever an operator has of it. Only a decision id, which is no secret, stands in the address of
 * the page; everything else stays in memory.
 */
import { CallError, call } from './api.js';
import { block, exempt, lift, reset } from './changes.js';
import { decisionFacts, denials, limits } from './client-facts.js';
import { changeButton, field } from './dialog.js';
import { h } from './dom.js';
import { clientOf, clientText, effectText, nameOf, tag, timeOf } from './text.js';

/** @import { Child } from './dom.js' */
/** @import { Page, View } from './page.js' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'decision'>} DenialDetails */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'inspect'>} Inspection */
/** @import { OverrideReport } from '../../src/gateway/operations/schemas/overrides.ts' */
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
  if (client === undefined) return failures.length === 0 && h('p', {}, 'Waiting for the gateway.');
  const overrides = inspection?.overrides ?? decision?.overrides ?? [];
  const listed = inspection?.listed ?? [decision?.listed ?? []].flat();
  return [
    h('h3', { class: 'who' }, clientOf(client)),
    h('p', { class: 'buttons' }, actions(page, client)),
    inspection && h('p', { key: 'state' }, stateOf(inspection)),
    inspection && keyLine(inspection),
    inspection?.is_plan_unseen && h('p', { key: 'plan', class: 'quiet' }, UNSEEN_PLAN),
    h(
      'ul',
      { class: 'plain' },
      ...listed.map(({ what }) => h('li', { key: what }, h('bdi', {}, what))),
      ...overrides.map((report) => overrideLine(page, report)),
      inspection?.is_address_unknown && h('li', { key: 'unknown', class: 'quiet' }, UNKNOWN),
    ),
    decision?.ended_override && endedLine(decision.ended_override),
    decision && decisionFacts(decision),
    inspection && limits(inspection),
    inspection && denials(inspection),
  ];
}

/** What lists its key, and until when. @param {Inspection} inspection */
function keyLine({ key_source: source, key_ends: ends, ended_key: ended }) {
  if (source === undefined) return false;
  if (ended !== undefined && ends !== undefined) {
    const key = [`The key of id:${ended} ended `, timeOf(ends)];
    return h('p', { key: 'listed' }, ...key, ', so requests count for their address.');
  }
  const end = ends !== undefined && [', until ', timeOf(ends)];
  return h('p', { key: 'listed' }, `The key is in ${KEY_SOURCES[source]}`, end, '.');
}

const KEY_SOURCES = {
  file: 'the policy file',
  redis: 'Redis',
  memory: 'this gateway, and lost with it',
};

const UNSEEN_PLAN =
  'The proxy names the plan of each request, which is not known here: these are the limits without a plan.';

const UNKNOWN =
  'The policy file lists addresses, and this name does not tell the address of the client: look up the address.';

/** What happens to its next request. @param {Inspection} inspection @returns {Child} */
function stateOf({
  access,
  limits: rows,
  limits_unavailable: unread,
  ended_key: ended,
  client_id: id,
}) {
  if (ended !== undefined && id !== undefined) return 'No request counts for it.';
  if (access === 'blocked')
    return [tag('blocked', 'wrong'), ' Every request is denied, whatever remains of its limits.'];
  if (access === 'exempt') return [tag('exempt'), ' Every request passes, and none is counted.'];
  if (unread !== undefined) return `The limits cannot be read now: ${unread}`;
  const full = rows.filter(({ mode, retry_after_ms: ms }) => mode === 'enforce' && ms !== 0);
  if (full.length === 0) return 'Neither blocked nor exempt, and within its limits.';
  return [
    tag('over the limit', 'wrong'),
    ...full.flatMap(({ limit }, i) => [i === 0 ? ' ' : ', ', nameOf(limit)]),
  ];
}

/** @param {Page} page @param {Inspection | Decision} found @returns {Child} */
function actions({ ask, overview }, found) {
  const about = { client: text, shown: clientText(found) };
  // Counters and blocks change nothing for a client that is blocked.
  const isBlocked = 'access' in found && found.access === 'blocked';
  const policies = overview.policies.map((policy) => policy.name);
  return [
    !isBlocked && [
      changeButton('reset', 'Reset…', () => ask(reset(about, policies))),
      ' ',
      changeButton('block', 'Block…', () => ask(block(about))),
      ' ',
    ],
    changeButton('exempt', 'Exempt…', () => ask(exempt(about))),
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
    changeButton('lift', 'Lift…', () => ask(lift(report))),
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
