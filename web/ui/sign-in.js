// @ts-check
/** What to do where the gateway does not let this page in. */
import { signIn } from './api.js';
import { field } from './dialog.js';
import { h } from './dom.js';

/**
 * @param {{ wasTokenRefused: boolean, message: string, onSignedIn: () => void }} options
 */
export function signInForm({ wasTokenRefused, onSignedIn }) {
  return h(
    'form',
    {
      class: 'tools',
      autocomplete: 'off',
      onsubmit(/** @type {SubmitEvent} */ event) {
        event.preventDefault();
        const form = /** @type {HTMLFormElement} */ (event.target);
        const fields = new FormData(form);
        const token = String(fields.get('token') ?? '').trim();
        if (token === '') return;
        signIn(token, fields.has('keep'));
        form.reset();
        onSignedIn();
      },
    },
    wasTokenRefused &&
      h('p', { role: 'alert', class: 'failure' }, 'The gateway refused this token.'),
    field(
      'Admin token (HEADGATE_ADMIN_TOKEN)',
      h('input', {
        name: 'token',
        type: 'password',
        required: true,
        autofocus: true,
        autocomplete: 'off',
      }),
    ),
    h(
      'label',
      { class: 'check' },
      h('input', { type: 'checkbox', name: 'keep' }),
      h('span', {}, 'Keep for this tab'),
    ),
    h('button', { type: 'submit' }, 'Sign in'),
  );
}

/** @param {string} message the gateway's */
export function forbidden(message) {
  return h(
    'div',
    { class: 'help' },
    h('p', {}, message),
    h(
      'p',
      {},
      'Open this page as ',
      h('code', {}, 'http://127.0.0.1:9464/ui/'),
      ' on the machine of the gateway, or from elsewhere through ',
      h('code', {}, 'ssh -L 9464:127.0.0.1:9464 MACHINE'),
      '; or set HEADGATE_ADMIN_TOKEN on the gateway and sign in here.',
    ),
  );
}
