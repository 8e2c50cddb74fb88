// @ts-check
/** The dialog that asks before a change is made: what will happen, until when, why, and by whom. */
import { CallError } from './api.js';
import { h, render } from './dom.js';

/** @import { Child } from './dom.js' */

/**
 * What people wrote: what the change does not ask for is empty, and `fields` that it does not have are absent.
 * @typedef {Record<'mode' | 'policy' | 'for' | 'reason' | 'by', string> & Partial<Record<'id' | 'plan' | 'expires', string>>} Terms
 */

/**
 * @typedef {object} Change
 * @property {string} title `Block i.BNa-...`
 * @property {string} effect what will happen, in a sentence
 * @property {string} verb on the button that confirms
 * @property {{ name: 'id' | 'plan' | 'expires', label: string, most: number, isRequired?: boolean, value?: string }[]} [fields]
 * @property {boolean} [hasEnd] asks until when
 * @property {'required' | 'optional'} [reason] asks why
 * @property {{ name: 'mode' | 'policy', label: string, options: [value: string, text: string][] }} [choice]
 * @property {(terms: Terms) => Promise<string>} make resolves to what was done, in a sentence; rejects with a CallError
 */

const BY = 'headgate-by';
const DURATIONS = [
  ['5min', '5 minutes'],
  ['15min', '15 minutes'],
  ['30min', '30 minutes'],
  ['1h', '1 hour'],
  ['2h', '2 hours'],
  ['4h', '4 hours'],
  ['12h', '12 hours'],
  ['1d', '1 day'],
  ['3d', '3 days'],
  ['7d', '7 days'],
  ['31d', '31 days'],
];

/** Says of every failure whether the change was made. @type {Record<string, string>} */
const FAILURES = {
  store_unavailable: 'Not confirmed by Redis',
  gone: 'Not confirmed: the gateway did not answer, so the change may or may not have been made',
};

/**
 * Opens the dialog. Only one can be open.
 * @param {Change} change
 * @param {(outcome: string) => void} onDone is told what was done, and of a failure that the dialog cannot show any more
 */
export function askChange(change, onDone) {
  const dialog = /** @type {HTMLDialogElement} */ (document.querySelector('#dialog'));
  /** @type {string | undefined} */
  let failure;
  let isBusy = false;
  let isOpen = true;
  const close = () => dialog.close();
  dialog.onclose = () => {
    isOpen = false;
  };
  // What people wrote last time is gone.
  render(dialog);
  draw();
  dialog.showModal();

  function draw() {
    render(dialog, form(change, { failure, isBusy, onsubmit: submit, close }));
  }

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    if (isBusy || !(event.target instanceof HTMLFormElement)) return;
    const terms = termsIn(event.target, change);
    isBusy = true;
    draw();
    try {
      const done = await change.make(terms);
      if (isOpen) close();
      onDone(done);
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      failure = `${FAILURES[error.code] ?? 'Not done'}: ${error.message}`;
      if (!isOpen) onDone(`${change.title}: ${failure}`);
    } finally {
      isBusy = false;
      if (isOpen) draw();
    }
  }
}

/** @param {HTMLFormElement} form @param {Change} change @returns {Terms} */
function termsIn(form, { fields: asked = [] }) {
  const fields = new FormData(form);
  /** @param {string} name */
  const text = (name) => String(fields.get(name) ?? '').trim();
  sessionStorage.setItem(BY, text('by'));
  return {
    mode: text('mode'),
    policy: text('policy'),
    for: text('for'),
    reason: text('reason'),
    by: text('by'),
    ...Object.fromEntries(asked.map(({ name }) => [name, text(name)])),
  };
}

/**
 * @param {Change} change
 * @param {{ failure: string | undefined, isBusy: boolean, onsubmit: (event: SubmitEvent) => void, close: () => void }} state
 */
function form(
  { title, effect, verb, fields = [], hasEnd, reason, choice },
  { failure, isBusy, onsubmit, close },
) {
  return h(
    'form',
    { onsubmit, autocomplete: 'off' },
    h('h2', { id: 'dialog-title' }, title),
    h('p', {}, effect),
    choice && field(choice.label, select(choice.name, choice.options)),
    ...fields.map(({ name, label, most, isRequired, value }, i) =>
      field(
        label,
        h('input', {
          ...{ name, value, maxlength: most, required: isRequired, autofocus: i === 0 },
          ...{ spellcheck: 'false', autocapitalize: 'off' },
        }),
      ),
    ),
    hasEnd && field('For', select('for', DURATIONS, '1h')),
    reason &&
      field(
        reason === 'required' ? 'Reason' : 'Reason (may be empty)',
        h('input', {
          name: 'reason',
          maxlength: 200,
          required: reason === 'required',
          autofocus: fields.length === 0,
        }),
      ),
    field(
      'Your name, for the audit log (may be empty)',
      h('input', { name: 'by', maxlength: 64, value: sessionStorage.getItem(BY) ?? '' }),
    ),
    failure !== undefined && h('p', { role: 'alert', class: 'failure' }, failure),
    h(
      'p',
      { class: 'buttons' },
      h(
        'button',
        { type: 'submit', class: 'confirm', 'aria-disabled': isBusy && 'true' },
        isBusy ? 'Waiting for the gateway' : failure === undefined ? verb : 'Try again',
      ),
      h('button', { type: 'button', onclick: close }, 'Cancel'),
    ),
  );
}

/** @param {string} label @param {Child} control @returns {Child} */
export function field(label, control) {
  return h('label', { key: label }, h('span', {}, label), control);
}

/** @param {string} name @param {string[][]} options @param {string} [value] */
export function select(name, options, value = options[0]?.[0]) {
  return h(
    'select',
    { name, value },
    ...options.map(([each, text]) => h('option', { key: each, value: each }, text)),
  );
}

/** Opens the dialog of a change. @param {string} key @param {string} text @param {() => void} onclick */
export function changeButton(key, text, onclick) {
  return h('button', { type: 'button', key, class: 'small', onclick }, text);
}
