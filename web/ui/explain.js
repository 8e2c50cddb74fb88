// @ts-check
/** How a gateway would decide a request now, and why. */
import { CallError, call } from './api.js';
import { field, select } from './dialog.js';
import { h } from './dom.js';

/** @import { Page, View } from './page.js' */
/** @typedef {import('../../src/gateway/operations/operation-table.ts').Output<'explain'>} ExplainAnswer */

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
const DIALECTS = [
  'envoy',
  'envoy-grpc',
  'nginx',
  'caddy',
  'haproxy',
  'traefik',
  'ingress-nginx',
  'apisix',
];

/** @type {ExplainAnswer | undefined} */
let explained;
/** @type {string | undefined} */
let failure;

/** @type {View} */
export const explainView = {
  title: 'Explain',
  show: (page) => [
    h('p', { class: 'quiet' }, 'How this gateway would decide a request now. Nothing is counted.'),
    form(page),
    failure !== undefined && h('p', { role: 'alert', class: 'failure' }, failure),
    h('div', { 'aria-live': 'polite' }, explained && trace(explained)),
  ],
};

/** @param {Page} page */
function form({ redraw }) {
  return h(
    'form',
    {
      class: 'explain',
      autocomplete: 'off',
      onsubmit(/** @type {SubmitEvent} */ event) {
        event.preventDefault();
        const fields = new FormData(/** @type {HTMLFormElement} */ (event.target));
        void explain(fields).then(redraw);
      },
    },
    field(
      'Method',
      select(
        'method',
        METHODS.map((method) => [method, method]),
      ),
    ),
    field(
      'Path or URL, as the client sends it',
      h('input', { name: 'url', required: true, value: '/', spellcheck: 'false' }),
    ),
    field(
      'Headers, one a line',
      h('textarea', { name: 'headers', rows: 3, placeholder: 'x-api-key: …', spellcheck: 'false' }),
    ),
    field(
      'Client address that the proxy reports',
      h('input', { name: 'client', placeholder: '203.0.113.9', spellcheck: 'false' }),
    ),
    field('Address that connected to the proxy', h('input', { name: 'peer', spellcheck: 'false' })),
    field(
      'Address of the proxy',
      h('input', { name: 'proxy', placeholder: '127.0.0.1', spellcheck: 'false' }),
    ),
    field(
      'Proxy',
      select(
        'dialect',
        DIALECTS.map((dialect) => [dialect, dialect]),
      ),
    ),
    h('p', { class: 'buttons' }, h('button', { type: 'submit' }, 'Explain')),
  );
}

/** @param {FormData} fields */
async function explain(fields) {
  failure = undefined;
  const { headers = '', ...others } = Object.fromEntries(
    [...fields].map(([name, value]) => [name, String(value).trim()]),
  );
  const written = Object.fromEntries(Object.entries(others).filter(([, text]) => text !== ''));
  try {
    explained = await call('POST', 'explain', { ...written, headers: headersIn(headers) });
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    explained = undefined;
    failure = error.message;
  }
}

/** A header may occur several times. @param {string} text */
function headersIn(text) {
  /** @type {Record<string, string[]>} */
  const headers = Object.create(null);
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const colon = line.indexOf(':');
    if (colon < 1)
      throw new CallError('invalid', `headers: write a name, a colon and a value on each line`);
    const name = line.slice(0, colon).trim();
    headers[name] = [...(headers[name] ?? []), line.slice(colon + 1).trim()];
  }
  return headers;
}

/** @param {ExplainAnswer} explained */
function trace({ steps, answer, store_unavailable: unread }) {
  const headers = [];
  for (let i = 0; i < answer.headers.length; i += 2)
    headers.push(`${answer.headers[i]}: ${answer.headers[i + 1]}`);
  return [
    h(
      'dl',
      { class: 'trace' },
      ...steps.map(({ about, what }, i) => [
        h('dt', { class: steps[i - 1]?.about === about && 'again' }, about),
        h('dd', {}, h('bdi', {}, what)),
      ]),
      h('dt', {}, 'answer'),
      h('dd', {}, h('b', {}, String(answer.status)), ` to ${answer.dialect}`),
      unread !== undefined && h('dd', {}, `The counters cannot be read now: ${unread}`),
    ),
    h('pre', {}, [...headers, '', answer.body].join('\n').trim()),
  ];
}
