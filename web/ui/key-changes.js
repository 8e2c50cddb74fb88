// @ts-check
/** The changes of keys that the store keeps, each as the dialog asks for it and as the API takes it. */
import { call } from './api.js';

/** @import { Output } from '../../src/gateway/operations/operation-table.ts' */
/** @import { Change } from './dialog.js' */
/** @typedef {Output<'listKeys'>['keys'][number]} Key */

/** `onMade` gets the key, which no other answer has. @param {(id: string, key: string) => void} onMade @returns {Change} */
export function add(onMade) {
  return {
    title: 'Add a key',
    effect: 'The page shows the key once. Every gateway knows it within a second.',
    verb: 'Add',
    fields: [
      { name: 'id', label: 'Id of the client', isRequired: true, most: 64 },
      { name: 'plan', label: 'Plan (may be empty)', most: 64 },
      { name: 'expires', label: 'Ends: 90d, a date, or empty for never', most: 64 },
    ],
    reason: 'optional',
    async make({ id = '', ...terms }) {
      /** @type {Output<'addKey'>} */
      const { key, warnings } = await call('POST', 'keys', { id, ...written(terms) });
      onMade(id, key);
      return [`id:${id}: key added.`, ...warnings].join(' ');
    },
  };
}

/** @param {Key} key @returns {Change} */
export function changePlan({ id, plan = '' }) {
  return {
    title: `Change the plan of id:${id}`,
    effect: 'All keys of this id get the limits of the plan. What was counted stays.',
    verb: 'Change plan',
    fields: [{ name: 'plan', label: 'Plan (empty for none)', most: 64, value: plan }],
    reason: 'optional',
    async make({ plan: wanted = '', reason, by }) {
      const { warnings } = await change({ id, plan: wanted, ...written({ reason, by }) });
      const now = wanted === '' ? 'no plan' : `plan ${wanted}`;
      return [`id:${id}: ${now}.`, ...warnings].join(' ');
    },
  };
}

/** @param {Key} key @returns {Change} */
export function changeBlock({ id, state }) {
  const blocked = state !== 'blocked';
  return {
    title: `${blocked ? 'Block' : 'Unblock'} the keys of id:${id}`,
    effect: blocked
      ? 'All requests with a key of this id are refused with 403, until you unblock it.'
      : 'The limits apply again.',
    verb: blocked ? 'Block' : 'Unblock',
    reason: 'optional',
    async make({ reason, by }) {
      await change({ id, blocked, ...written({ reason, by }) });
      return `id:${id}: ${blocked ? 'blocked' : 'no longer blocked'}.`;
    },
  };
}

/** @param {Key} key @returns {Change} */
export function revoke({ id, sha256 }) {
  const name = `key ${sha256.slice(0, 12)} of id:${id}`;
  return {
    title: `Revoke ${name}`,
    effect: 'Requests with this key count for their address, as those with an unlisted key.',
    verb: 'Revoke',
    reason: 'optional',
    async make({ reason, by }) {
      await call('POST', 'keys/revoke', { id, sha256, ...written({ reason, by }) });
      return `${name}: revoked.`;
    },
  };
}

/** @param {object} fields @returns {Promise<Output<'changeKeys'>>} */
function change(fields) {
  return call('POST', 'keys/change', fields);
}

/** Without fields that are empty. @param {Partial<Record<'plan' | 'expires' | 'reason' | 'by', string | undefined>>} fields */
function written({ plan, expires, reason, by }) {
  return Object.fromEntries(
    Object.entries({ plan, expires, reason, by }).filter(([, text]) => text),
  );
}
