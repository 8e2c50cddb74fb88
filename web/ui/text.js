// @ts-check
/** Words for numbers and times. All times are in UTC, as in the log and in the commands. */
import { h } from './dom.js';

/** @import { Child } from './dom.js' */
/** @import { OverrideReport } from '../../src/gateway/operations/schemas/overrides.ts' */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How far the clock of the gateway is ahead of the browser's. */
let aheadMs = 0;

/** @param {string} time the gateway's, now */
export function setClock(time) {
  aheadMs = Date.parse(time) - Date.now();
}

/** Milliseconds since the epoch, by the gateway's clock. */
export function now() {
  return Date.now() + aheadMs;
}

/** @param {number} count */
export function countText(count) {
  return count.toLocaleString('en-US');
}

/** @param {number} perSecond */
export function rateText(perSecond) {
  const digits = perSecond > 0 && perSecond < 9.95 ? 1 : 0;
  if (perSecond > 0 && perSecond < 0.05) return '<0.1';
  return perSecond.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** @param {number} part @param {number} whole */
export function shareText(part, whole) {
  if (part === 0 || whole === 0) return '0 %';
  const percent = (part / whole) * 100;
  if (percent < 0.1) return '<0.1 %';
  return `${percent === 100 ? 100 : Math.min(percent, 99.9).toFixed(1)} %`;
}

/** `1 gateway`, `2 gateways` @param {number} count @param {string} noun */
export function countOf(count, noun) {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** `4 min 58 s` @param {number} ms */
export function durationText(ms) {
  if (ms < MINUTE) return `${Math.ceil(ms / SECOND)} s`;
  if (ms < HOUR) return twoUnits(ms, [MINUTE, 'min'], [SECOND, 's']);
  if (ms < DAY) return twoUnits(ms, [HOUR, 'h'], [MINUTE, 'min']);
  return twoUnits(ms, [DAY, 'd'], [HOUR, 'h']);
}

/** @param {number} ms @param {[number, string]} large @param {[number, string]} small */
function twoUnits(ms, [large, largeName], [small, smallName]) {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`;
}

/** `4 min ago`, `in 2 h` @param {string} time */
export function relativeText(time) {
  const ms = Date.parse(time) - now();
  const length = Math.abs(ms);
  const [unit, name] =
    length < MINUTE
      ? [SECOND, 's']
      : length < HOUR
        ? [MINUTE, 'min']
        : length < DAY
          ? [HOUR, 'h']
          : [DAY, 'd'];
  const count = Math.floor(length / unit);
  if (count === 0) return 'now';
  return ms < 0 ? `${count} ${name} ago` : `in ${count} ${name}`;
}

/** The time of day; the day too if it is not today. @param {string} time */
export function timeText(time) {
  const [day = '', clock = ''] = new Date(time).toISOString().split('T');
  const today = new Date(now()).toISOString().slice(0, 10);
  return day === today ? clock.slice(0, 8) : `${day} ${clock.slice(0, 5)}`;
}

/** @param {string} time @returns {Child} */
export function timeOf(time) {
  return [clockOf(time), ' ', h('small', {}, relativeText(time))];
}

/** @param {string} time @returns {Child} */
export function clockOf(time) {
  return h('time', { datetime: time }, timeText(time));
}

/** @param {string} time @returns {Child} */
export function relativeOf(time) {
  return h('time', { datetime: time, title: time }, relativeText(time));
}

/** A name from a request or a file, which may read from right to left. @param {string} name @returns {Child} */
export function nameOf(name) {
  return h('bdi', { class: 'name' }, name);
}

/**
 * A listed key by its id and plan, any other client by its name in the log.
 * @param {{ client: string, client_id?: string | undefined, plan?: string | undefined, is_plan_unknown?: true | undefined }} client
 * @returns {Child}
 */
export function clientOf({ client, client_id: id, plan, is_plan_unknown: isUnknown }) {
  if (id === undefined) return nameOf(client);
  return [
    nameOf(`id:${id}`),
    plan !== undefined && [
      ' ',
      h('small', {}, h('bdi', {}, plan), isUnknown && ', which no policy has'),
    ],
  ];
}

/** @param {{ client: string, client_id?: string | undefined }} client */
export function clientText({ client, client_id: id }) {
  return id === undefined ? client : `id:${id}`;
}

/** What an override changes. @param {OverrideReport} override */
export function subjectText(override) {
  if (override.about === 'client') return clientText(override);
  return override.about === 'policy' ? override.policy : 'log';
}

/** What it changes it to. @param {OverrideReport} override */
export function effectText(override) {
  if (override.about === 'client') return override.access;
  if (override.about === 'policy') return override.mode;
  if (override.about === 'log_level') return `level ${override.level}`;
  return `1 in ${countText(override.allows_one_in)} allowed requests`;
}

/** A short mark. @param {string} text @param {string} [kind] */
export function tag(text, kind) {
  return h('span', { class: kind === undefined ? 'tag' : `tag ${kind}` }, text);
}
