// @ts-check
/** Says in words how the gateways are: what is wrong, worst first, or that all is well. */
import { countOf, rateText, shareText, timeText } from './text.js';

/** @import { Overview } from '../../src/operations/schemas/overview.ts' */
/** @typedef {Overview['without_policy']} Series */
/** @typedef {{ level: 'well' | 'warning' | 'wrong', text: string }} Line */

const LAST_MS = 60_000;
/** Per second. */
const MANY_DENIALS = 1;
const MANY_OF_ALL = 0.1;

/** @type {Record<Overview['store']['states'][number]['state'], string>} */
const MEANS = {
  enforced: 'limits are enforced',
  local: 'limits are counted locally',
  open: 'requests pass without limits',
  closed: 'requests are denied',
};

/** Reasons that leave open whether Redis is there at all. A colon and details may follow. */
const SILENT = [undefined, 'timeout', 'refused', 'connection', 'given_up'];

/** @param {Overview} overview @returns {[Line, ...Line[]]} */
export function headline(overview) {
  const denials = denialLines(overview);
  const [first, ...rest] = [
    ...storeLines(overview),
    ...gatewayLines(overview),
    ...policyFileLines(overview),
    ...refusedCallerLines(overview),
    ...untrustedProxyLines(overview),
    ...denials,
  ];
  const modes = modeLines(overview);
  const traffic = trafficText(overview);
  if (first === undefined) return [{ level: 'well', text: `All is well: ${traffic}` }, ...modes];
  if (denials.length > 0) return [first, ...rest, ...modes];
  return [first, ...rest, ...modes, { level: 'well', text: sentence(traffic) }];
}

/** Requests and denials per second in the last minute. @param {Overview} overview */
function trafficText(overview) {
  const { requests, denials } = totalOf(overview);
  if (requests === 0) return 'no requests in the last minute';
  return `${rateText(requests)} requests/s, ${shareText(denials, requests)} denied`;
}

/** @param {Overview} overview */
function totalOf({ policies, without_policy: others, step_ms: stepMs }) {
  const rates = [...policies, others].map((series) => lastMinute(series, stepMs));
  return {
    requests: rates.reduce((sum, each) => sum + each.requests, 0),
    denials: rates.reduce((sum, each) => sum + each.denials, 0),
  };
}

/** Denials that somebody will soon ask about. @param {Overview} overview @returns {Line[]} */
function denialLines(overview) {
  const { requests, denials } = totalOf(overview);
  if (denials < MANY_DENIALS || denials < requests * MANY_OF_ALL) return [];
  const { step_ms: stepMs, policies } = overview;
  const [most] = policies
    .map(({ name, ...series }) => ({ name, ...lastMinute(series, stepMs) }))
    .sort((a, b) => b.denials - a.denials);
  const by = most === undefined || most.denials === 0 ? '' : `, most by ${most.name}`;
  return [
    {
      level: 'warning',
      text: `${shareText(denials, requests)} of ${rateText(requests)} requests/s are denied${by}`,
    },
  ];
}

/**
 * Per second.
 * @param {Series} series
 * @param {number} stepMs
 */
export function lastMinute({ requests, denials, would_deny: wouldDeny }, stepMs) {
  const steps = Math.max(1, Math.min(requests.length, Math.round(LAST_MS / stepMs)));
  /** @param {number[]} counts */
  const perSecond = (counts) =>
    counts.slice(-steps).reduce((sum, count) => sum + count, 0) / ((steps * stepMs) / 1_000);
  return {
    requests: perSecond(requests),
    denials: perSecond(denials),
    wouldDeny: perSecond(wouldDeny),
  };
}

/** @param {Overview} overview @returns {Line[]} */
function storeLines({ store, gateways }) {
  const failing = store.states.filter(({ state }) => state !== 'enforced');
  const [first] = failing;
  if (first === undefined) return [];
  const since = failing.flatMap((each) => each.since ?? []).sort()[0];
  const affected = Math.max(...failing.map((each) => each.gateways));
  const where =
    gateways.answered > 1 ? ` (${affected} of ${countOf(gateways.answered, 'gateway')})` : '';
  const means = [...new Set(failing.map(({ state }) => MEANS[state]))].join('; ');
  return [
    {
      level: 'wrong',
      text: `${failureText(store.kind, first.reason)}${since === undefined ? '' : ` since ${clockText(since)}`}${where}: ${means}`,
    },
  ];
}

/** @param {string} kind @param {string | undefined} reason */
function failureText(kind, reason) {
  if (kind === 'memory')
    return `Requests are not counted${reason === undefined ? '' : ` (${reason})`}`;
  if (SILENT.includes(reason?.split(':')[0])) return 'Redis does not answer';
  return `Redis does not count (${reason})`;
}

/** @param {Overview} overview @returns {Line[]} */
function gatewayLines({ gateways: { asked, answered } }) {
  if (answered >= asked) return [];
  return [
    {
      level: 'warning',
      text: `${countOf(asked - answered, 'gateway')} of ${asked} did not answer: the numbers lack theirs`,
    },
  ];
}

/** @param {Overview} overview @returns {Line[]} */
function policyFileLines({ policy_file: { digests, refused } }) {
  /** @type {Line[]} */
  const lines = [];
  if (refused !== undefined) {
    lines.push({
      level: 'warning',
      text: `The policy file was refused at ${clockText(refused.at)}: the one before stays in force`,
    });
  }
  if (digests.length > 1) {
    lines.push({
      level: 'warning',
      text: `Gateways have ${digests.length} different policy files`,
    });
  }
  return lines;
}

/** @param {Overview} overview @returns {Line[]} */
function refusedCallerLines({ refused_caller: found }) {
  if (found === undefined) return [];
  const text = `Calls without the right secret get 403, the last at ${clockText(found.last)}. If your proxy sent them, so do all of its clients: compare HEADGATE_PROXY_SECRET with its X-Headgate-Secret`;
  return [{ level: 'wrong', text }];
}

/** @param {Overview} overview @returns {Line[]} */
function untrustedProxyLines({ untrusted_proxy: found }) {
  if (found === undefined) return [];
  const text =
    'A proxy outside identity.trusted_proxies asks: all of its clients share the limits of its address. Add the network that it connects from';
  return [{ level: 'warning', text }];
}

/** Overrides that are easily forgotten. @param {Overview} overview @returns {Line[]} */
function modeLines({ policies }) {
  return policies
    .filter(({ mode, mode_of_file: ofFile }) => mode !== ofFile)
    .map(({ name, mode, mode_of_file: ofFile }) => ({
      level: 'warning',
      text: `${name}: ${mode} by an operator, ${ofFile} in the policy file`,
    }));
}

/** `02:14 UTC`; the day too if it is not today. @param {string} time */
function clockText(time) {
  const text = timeText(time);
  return `${text.length === 8 ? text.slice(0, 5) : text} UTC`;
}

/** @param {string} text */
function sentence(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
