// @ts-check
/** Polls the gateway, and shows how it is and the chosen view. What was last known stays while nothing answers. */
import { CallError, call, isSignedIn, signOut } from './api.js';
import { clientView } from './client.js';
import { deniedView } from './denied.js';
import { askChange } from './dialog.js';
import { h, render, visible } from './dom.js';
import { explainView } from './explain.js';
import { keysView } from './keys.js';
import { overridesView } from './overrides.js';
import { overviewView } from './overview.js';
import { policiesView } from './policies.js';
import { forbidden, signInForm } from './sign-in.js';
import { durationText, now, setClock, timeText } from './text.js';

/** @import { StatusLine } from '../../src/gateway/operations/schemas/overview.ts' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'overview'>} Overview */
/** @import { Page, View } from './page.js' */
/** @typedef {{ code: string, message: string, sinceMs: number }} Problem */

const EVERY_MS = 2_000;
const EVERY_MS_IN_BACKGROUND = 30_000;
const MOST_NOTICES = 3;

/** @type {Map<string, View>} */
const VIEWS = new Map([
  ['', overviewView],
  ['denied', deniedView],
  ['client', clientView],
  ['explain', explainView],
  ['policies', policiesView],
  ['overrides', overridesView],
  ['keys', keysView],
]);

/** @type {Overview | undefined} */
let overview;
/** By the gateway's clock. */
let answeredMs = 0;
/** Why nothing is polled anew. @type {Problem | undefined} */
let problem;
/** Why the view is out of date although the gateway answers. @type {string | undefined} */
let viewFailure;
let wasTokenRefused = false;
let isPolling = false;
let isPollWanted = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** What was done, newest first. @type {{ key: number, text: string }[]} */
let notices = [];
let noticeCount = 0;
/** What screen readers heard last of how things are. @type {string | undefined} */
let announced;

function route() {
  const [, name = '', parameter = ''] = /^#\/([^/]*)\/?(.*)$/.exec(location.hash) ?? [];
  const view = VIEWS.get(name);
  return view === undefined
    ? { name: '', view: overviewView, parameter: '' }
    : { name, view, parameter };
}

/** Asks at once, but never twice at the same time: a second poll follows the first. */
function refresh() {
  isPollWanted = true;
  if (!isPolling) void pollWhileWanted();
}

async function pollWhileWanted() {
  isPolling = true;
  clearTimeout(timer);
  try {
    while (isPollWanted) {
      isPollWanted = false;
      await poll();
    }
  } finally {
    isPolling = false;
    wait();
  }
}

function wait() {
  if (isPolling) return;
  clearTimeout(timer);
  // A refused token would only be refused again.
  if (problem?.code === 'unauthorized') return;
  timer = setTimeout(refresh, document.hidden ? EVERY_MS_IN_BACKGROUND : EVERY_MS);
}

async function poll() {
  const { view, parameter } = route();
  const [answer, loaded] = await Promise.allSettled([
    /** @type {Promise<Overview>} */ (call('GET', 'overview')),
    view.load?.(pageWith(parameter)),
  ]);
  if (answer.status === 'fulfilled') {
    overview = answer.value;
    setClock(overview.time);
    answeredMs = now();
    problem = undefined;
    viewFailure = loaded.status === 'rejected' ? textOf(loaded.reason) : undefined;
  } else {
    fail(answer.reason);
  }
  draw();
}

/** @param {unknown} error */
function fail(error) {
  const { code, message } =
    error instanceof CallError ? error : new CallError('unknown', textOf(error));
  if (code === 'unauthorized') {
    wasTokenRefused = isSignedIn();
    signOut();
  }
  problem = { code, message, sinceMs: problem?.code === code ? problem.sinceMs : now() };
}

/** @param {unknown} error */
function textOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {string} parameter @returns {Page} */
function pageWith(parameter) {
  return {
    // Views are shown only when it is there.
    overview: /** @type {Overview} */ (overview),
    parameter,
    redraw: draw,
    refresh,
    ask: (change) => askChange(change, done),
  };
}

/** @param {string} text */
function done(text) {
  noticeCount++;
  notices = [
    { key: noticeCount, text: `${timeText(new Date(now()).toISOString())} ${text}` },
    ...notices,
  ].slice(0, MOST_NOTICES);
  announce(text);
  draw();
  refresh();
}

function draw() {
  const { name, view, parameter } = route();
  const lines = statusLines();
  render(
    elementOf('#status'),
    lines.map(({ level, text }, i) => h(i === 0 ? 'h1' : 'p', { class: `line ${level}` }, text)),
    problem?.code === 'unauthorized' &&
      signInForm({ wasTokenRefused, message: problem.message, onSignedIn: refresh }),
    problem?.code === 'forbidden' && forbidden(problem.message),
    h('ul', { class: 'notices' }, ...notices.map(notice)),
  );
  render(
    elementOf('#nav'),
    [...VIEWS].map(([each, { title }]) =>
      h('a', { href: `#/${each}`, 'aria-current': each === name && 'page' }, title),
    ),
  );
  const main = elementOf('#main');
  main.classList.toggle('stale', problem !== undefined);
  render(
    main,
    overview !== undefined &&
      h(
        'div',
        { key: name },
        h('h2', {}, view.title),
        viewFailure !== undefined && h('p', { role: 'alert', class: 'failure' }, viewFailure),
        view.show(pageWith(parameter)),
      ),
  );
  render(elementOf('#footer'), footer());
  const host = hostText();
  render(elementOf('#product'), h('b', {}, 'headgate'), ' on ', h('bdi', {}, host), versionText());
  const [first] = lines;
  const isWell = first === undefined || first.level === 'well';
  document.title = visible(`${isWell ? 'headgate' : first.text}: ${view.title} (${host})`);
  if (first !== undefined) announceStatus(first);
}

/** At least one. @returns {StatusLine[]} */
function statusLines() {
  if (problem === undefined) {
    return overview?.status ?? [{ level: 'warning', text: 'Waiting for the gateway' }];
  }
  /** @type {StatusLine[]} */
  const age =
    overview === undefined
      ? []
      : [
          {
            level: 'warning',
            text: `What you see is ${durationText(Math.max(0, now() - answeredMs))} old`,
          },
        ];
  const level = problem.code === 'unauthorized' ? 'warning' : 'wrong';
  return [{ level, text: problemText(problem) }, ...age];
}

/** @param {Problem} problem */
function problemText({ code, message, sinceMs }) {
  const since = `since ${timeText(new Date(sinceMs).toISOString())} UTC`;
  if (code === 'gone') return `This gateway does not answer ${since}`;
  if (code === 'unauthorized') return 'Sign in to see how the gateway is';
  if (code === 'forbidden') return 'This gateway does not answer here';
  return `This gateway cannot tell how it is ${since}: ${message}`;
}

/** @param {{ key: number, text: string }} notice */
function notice({ key, text }) {
  const dismiss = () => {
    notices = notices.filter((each) => each.key !== key);
    draw();
  };
  return h(
    'li',
    { key },
    h('span', {}, text),
    h(
      'button',
      { type: 'button', class: 'small', 'aria-label': `Dismiss: ${text}`, onclick: dismiss },
      '×',
    ),
  );
}

function footer() {
  return [
    h('span', {}, 'All times are UTC.'),
    isSignedIn() &&
      h(
        'button',
        {
          type: 'button',
          onclick() {
            signOut();
            overview = undefined;
            refresh();
          },
        },
        'Sign out',
      ),
  ];
}

/** The name of the gateway's machine; before it is known, the address of the page. */
function hostText() {
  return overview?.gateway.host ?? location.host;
}

function versionText() {
  return overview !== undefined && h('small', {}, ` ${overview.gateway.version}`);
}

/** Tells screen readers when something changes that matters, not every rate. @param {StatusLine} line */
function announceStatus({ level, text }) {
  if (overview === undefined && problem === undefined) return;
  const status = level === 'well' ? 'All is well' : text;
  const withoutNumbers = status.replace(/[\d.,:]+/g, '');
  if (announced !== undefined && announced !== withoutNumbers) announce(status);
  announced = withoutNumbers;
}

/** @param {string} text */
function announce(text) {
  elementOf('#announcement').textContent = visible(text);
}

/** @param {string} selector @returns {HTMLElement} */
function elementOf(selector) {
  const found = document.querySelector(selector);
  if (found instanceof HTMLElement) return found;
  throw new Error(`the page has no ${selector}`);
}

let shownView = route().view;
addEventListener('hashchange', () => {
  const { view } = route();
  draw();
  if (view !== shownView) elementOf('#main').focus();
  shownView = view;
  refresh();
});
document.addEventListener('visibilitychange', () => (document.hidden ? wait() : refresh()));
draw();
refresh();
