/** How a limit is named: in store keys, in headers, and in words. */
import type { Afterwards, Refund, Reserve } from './outcome.ts';
import { type Quota, SHORT_NAMES } from './store.ts';

/** Empty for a log. A calendar needs no algorithm, because only fixed windows have one. */
export function kindOf({ algorithm, calendar }: Quota): string {
  return algorithm === 'sliding-window-log' || calendar ? '' : SHORT_NAMES[algorithm];
}

/** The window in a store key. It has the algorithm, because no algorithm can read the counters of another. */
export function keyWindow(quota: Quota): string {
  const { calendar, windowMs } = quota;
  if (calendar !== undefined) return `${calendar.unit}.${calendar.zone}`;
  return [windowMs, kindOf(quota)].filter((part) => part !== '').join('.');
}

/** `5min`, `month`, `month@Europe/Zurich`. */
export function windowLabel({ window, calendar }: Quota & { readonly window: string }): string {
  return calendar === undefined || calendar.zone === 'UTC' ? window : `${window}@${calendar.zone}`;
}

/** `"login";q=5;w=300`, in another unit than requests `"chat";q=9000;w=60;qu="tokens"`. */
export function policyItem(label: string, quota: Quota, unit?: string): string {
  const item = `"${label}";q=${quota.burst};w=${secondsToRefill(quota)}`;
  return unit === undefined ? item : `${item};qu="${unit}"`;
}

/** The length of the window or, for a token bucket, the time until it is full. Of a calendar, the longest window. */
function secondsToRefill({ burst, limit, windowMs, calendar }: Quota): number {
  if (calendar !== undefined) return calendar.nominalMs / 1_000;
  return Math.ceil((burst * windowMs) / limit / 1_000);
}

/** `5 requests per 5 minutes`, `100000 tokens per month`. */
export function describeQuota(
  { algorithm, limit, burst }: Quota,
  window: string,
  unit = limit === 1 ? 'request' : 'requests',
): string {
  const rate = `${limit} ${unit} per ${windowWords(window)}`;
  return algorithm === 'token-bucket' ? `${rate}, at most ${burst} at once` : rate;
}

const UNIT_WORDS: Readonly<Record<string, string>> = {
  s: 'second',
  min: 'minute',
  h: 'hour',
  d: 'day',
};

function windowWords(window: string): string {
  const count = Number.parseInt(window, 10);
  if (Number.isNaN(count)) return window;
  const unit = UNIT_WORDS[window.slice(String(count).length)] ?? 'window';
  return count === 1 ? unit : `${count} ${unit}s`;
}

/** `, reserves 500, unknown 8000, refunds status 204 or header x-login: ok`. Empty if nothing is charged afterwards. */
export function describeAfterwards(afterwards: Afterwards | undefined): string {
  if (afterwards === undefined) return '';
  const { reserve, unknown, refund } = afterwards;
  return [
    '',
    ...(reserve === undefined ? [] : [`reserves ${reserveWords(reserve)}`]),
    ...(unknown === undefined ? [] : [`unknown ${unknown}`]),
    ...(refund === undefined ? [] : [`refunds ${refundWords(refund)}`]),
  ].join(', ');
}

function reserveWords(reserve: Reserve): string {
  if (typeof reserve === 'number') return String(reserve);
  return 'header' in reserve ? `header ${reserve.header}` : `metadata ${reserve.metadata}`;
}

function refundWords({ status, headers, locations }: Refund): string {
  return [
    ...[...status].map((each) => `status ${each}`),
    ...[...headers].map(([name, value]) => `header ${name}: ${value}`),
    ...[...locations].map((each) => `location ${each}`),
  ].join(' or ');
}
