// @ts-check
/** The changes that operators make, each as the dialog asks for it and as the API takes it. */
import { call } from './api.js';
import { effectText, subjectText, timeText } from './text.js';

/** @import { Output } from '../../src/gateway/operations/operation-table.ts' */
/** @import { OverrideReport } from '../../src/gateway/operations/schemas/overrides.ts' */
/** @import { Change } from './dialog.js' */

/**
 * A client as the API takes it, and as the page shows it: the first may be a key.
 * @typedef {{ client: string, shown: string }} NamedClient
 */

/** @param {NamedClient} client @param {string[]} policies their names @returns {Change} */
export function reset({ client, shown }, policies) {
  return {
    title: `Reset ${shown}`,
    effect: 'The client starts anew, as if it had sent nothing yet. Shared counters stay.',
    verb: 'Reset counters',
    reason: 'optional',
    choice: {
      name: 'policy',
      label: 'Policy',
      options: [['', 'all policies'], ...policies.map(alike)],
    },
    async make({ policy, reason, by }) {
      const { policies: done, address } = await call('POST', 'clients/reset', {
        client,
        ...written({ policy, reason, by }),
      });
      const also = address === undefined ? '' : `; also those of its address ${address}`;
      return `${shown}: counters reset: ${done.join(', ')}${also}.`;
    },
  };
}

/** @typedef {Output<'block'>} AccessChanged */

/** @param {NamedClient} client @returns {Change} */
export function block({ client, shown }) {
  return {
    title: `Block ${shown}`,
    effect: 'All requests of the client are refused with 403.',
    verb: 'Block',
    hasEnd: true,
    reason: 'required',
    make: async (terms) =>
      accessChanged(await call('POST', 'clients/block', { client, ...override(terms) })),
  };
}

/** @param {NamedClient} client @returns {Change} */
export function exempt({ client, shown }) {
  return {
    title: `Exempt ${shown}`,
    effect: 'No limit applies to the client.',
    verb: 'Exempt',
    hasEnd: true,
    reason: 'required',
    make: async (terms) =>
      accessChanged(await call('POST', 'clients/exempt', { client, ...override(terms) })),
  };
}

/** @param {string} policy @param {string} mode the one that applies now @returns {Change} */
export function changeMode(policy, mode) {
  /** @type {[string, string][]} */
  const options = [
    ['shadow', 'shadow: counts and reports, denies nobody'],
    ['off', 'off: neither counts nor denies'],
    ['enforce', 'enforce: denies what is over the limits'],
  ];
  return {
    title: `Change the mode of ${policy}`,
    effect: `Its mode is ${mode}. The mode of the policy file returns when the override expires.`,
    verb: 'Change mode',
    hasEnd: true,
    reason: 'required',
    choice: { name: 'mode', label: 'Mode', options: options.filter(([each]) => each !== mode) },
    make: async ({ mode: wanted, ...terms }) =>
      inForce(await call('PUT', modePath(policy), { mode: wanted, ...override(terms) })),
  };
}

/** Ends an override. @param {OverrideReport} report @returns {Change} */
export function lift(report) {
  const subject = subjectText(report);
  return {
    title: `Lift the override of ${subject}`,
    effect: `"${effectText(report)}", set by ${report.by}, ends now instead of at ${timeText(report.until)} UTC.`,
    verb: 'Lift',
    async make({ by }) {
      const lifted = await removeOverride(report, by);
      return `${subject}: no longer ${effectText(report)}.${others(lifted)}`;
    },
  };
}

/** @param {OverrideReport} report @param {string} by */
function removeOverride(report, by) {
  const query = by === '' ? '' : `?${new URLSearchParams({ by })}`;
  if (report.about === 'client') {
    const verb = report.access === 'blocked' ? 'unblock' : 'unexempt';
    return call('POST', `clients/${verb}`, { client: report.client, ...written({ by }) });
  }
  if (report.about === 'policy') return call('DELETE', `${modePath(report.policy)}${query}`);
  return call('DELETE', `log${query}`);
}

/** @param {string} policy */
function modePath(policy) {
  return `policies/${encodeURIComponent(policy)}/mode`;
}

/** @param {{ for: string, reason: string, by: string }} terms */
function override({ for: duration, reason, by }) {
  return { for: duration, reason, ...written({ by }) };
}

/** Without fields that are empty. @param {Record<string, string>} fields */
function written(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, text]) => text !== ''));
}

/** @param {AccessChanged} made */
function accessChanged(made) {
  const replaced = (made.replaced ?? []).map((each) => ` It replaces ${inForce(each)}`);
  return `${inForce(made)}${replaced.join('')}${others(made)}`;
}

/** @param {{ other_overrides?: OverrideReport[] | undefined }} changed */
function others({ other_overrides: found = [] }) {
  return found.map((each) => ` Another override still applies: ${inForce(each)}`).join('');
}

/** @param {OverrideReport} report */
function inForce(report) {
  return `${subjectText(report)}: ${effectText(report)} until ${timeText(report.until)} UTC.`;
}

/** @param {string} text @returns {[string, string]} */
function alike(text) {
  return [text, text];
}
