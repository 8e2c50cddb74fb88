/** Advice on limits that charge afterwards: outcomes that look alike, and requests that cost nothing. */
import type { DiagnosticDraft, Path } from '../../../gateway/config/diagnostic.ts';
import {
  everyEntry,
  type LimitEntry,
  limitLists,
  type PlacedEntry,
  type ValidFile,
} from '../../../gateway/config/policy-file/valid-file.ts';
import { parseDuration } from '../../../gateway/config/rate.ts';
import { MAX_LIMIT } from '../../../gateway/core/counting/store.ts';

export function adviceOnAfterwards(file: ValidFile): DiagnosticDraft[] {
  return everyEntry(file).flatMap(adviceOnEntry);
}

function adviceOnEntry({ entry, at }: PlacedEntry): DiagnosticDraft[] {
  return limitLists(entry, at).flatMap(({ limits, path }) => [
    ...limits.flatMap((limit, index) => [
      ...flatReserve(limit, [...path, index]),
      ...refundByLook(limit, [...path, index]),
    ]),
    ...unboundedRefunds(limits, path),
  ]);
}

function flatReserve({ unit, reserve, unknown }: LimitEntry, path: Path): DiagnosticDraft[] {
  if (typeof reserve !== 'number' || unknown !== undefined) return [];
  const message = `a response that is cut off costs ${reserve} ${unit}, even if it took more: add "unknown: N" with the ${unit} of the largest response`;
  return [{ rule: 'reserve-without-unknown', path: [...path, 'reserve'], message }];
}

const WRONG_PASSWORD: ReadonlySet<number> = new Set([400, 401, 403, 422]);

function refundByLook({ refund }: LimitEntry, path: Path): DiagnosticDraft[] {
  if (refund === undefined) return [];
  const failure = refund.status?.find((status) => WRONG_PASSWORD.has(status));
  const success = refund.status?.find((status) => status < 400);
  const sign = success === undefined ? refund.location && 'a redirect' : `status ${success}`;
  if (failure === undefined && sign === undefined) return [];
  const message =
    failure === undefined
      ? `many applications answer a failure with ${sign} too, such as a wrong password: test that failures end in 429, or refund by a header that the application sets`
      : `many applications answer a wrong password with status ${failure}, and refunded requests are free: refund by what a success looks like`;
  return [{ rule: 'refund-of-failures', path: [...path, 'refund'], message }];
}

/** A client whose requests are all refunded would never be denied. */
function unboundedRefunds(limits: readonly LimitEntry[], path: Path): DiagnosticDraft[] {
  const [first] = limits;
  if (first === undefined || limits.some(({ refund }) => refund === undefined)) return [];
  const message = `refunded requests are free and nothing else limits them: add "- ${secondLimit(first)}"`;
  return [{ rule: 'refunds-without-bound', path, message }];
}

const TIMES = 20;
const WINDOWS = ['1h', '1d', '7d'];

/** It has another window, so it has another counter. */
function secondLimit({ rate, per }: LimitEntry): string {
  const window = WINDOWS.find((each) => parseDuration(each) > rate.windowMs) ?? '1d';
  const text = `${Math.min(TIMES * rate.limit, MAX_LIMIT)}/${window}`;
  if (per === 'client') return text;
  return `{ rate: ${text}, per: ${per.includes(':') ? `"${per}"` : per} }`;
}
