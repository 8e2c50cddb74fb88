/** `POST /settle`: applications report what requests turned out to cost. */
import type { Settle, SettleVerdict, UnitsMissing } from './channel.ts';
import { MalformedReport, type Report, type Reports, readReports } from './reports.ts';

interface SettleAnswer {
  readonly status: 200 | 400;
  /** JSON. */
  readonly body: string;
}

/** Why a report did not change a count, or not yet. */
const REASONS: Readonly<Record<Exclude<SettleVerdict, 'settled'>, string>> = {
  repeated: 'The token was settled before. Nothing was charged again.',
  waiting: 'The store does not answer. The gateway keeps the report and tries again.',
  malformed: 'This is not a settle token. Send the whole value of X-Headgate-Settle.',
  forged: 'No key of this gateway has signed the token. Gateways must share their settle keys.',
  ended: 'The token has expired. The reservation stays.',
  unknown_limit: 'The policy file no longer has the limit that the token is about.',
  gone: 'What was to be given back no longer counts.',
  reset: 'The counter was reset after the reservation.',
  elsewhere: 'Another gateway counted the request while the store failed. The reservation stays.',
  lost: 'Too many reports are waiting for the store. The reservation stays: send the report again.',
};

/** Returns what answers a body. A well-formed one is answered with 200, and a result for each report. */
export function settleOverHttp(
  settle: Settle,
): (written: string) => SettleAnswer | Promise<SettleAnswer> {
  const verdictOf = ({ token, outcome }: Report) => settle(token, outcome, 'settle');
  return (written) => {
    const found = reportsIn(written);
    if (found instanceof MalformedReport) {
      return answered(400, { error: 'bad_request', message: found.message });
    }
    const [first] = found.reports;
    if (found.isBatch || first === undefined) {
      return Promise.all(found.reports.map(verdictOf)).then((verdicts) =>
        answered(200, { settlements: verdicts.map(resultOf) }),
      );
    }
    const verdict = verdictOf(first);
    if (verdict instanceof Promise) return verdict.then((each) => answered(200, resultOf(each)));
    return answered(200, resultOf(verdict));
  };
}

function reportsIn(written: string): Reports | MalformedReport {
  try {
    return readReports(written);
  } catch (error) {
    if (error instanceof MalformedReport) return error;
    throw error;
  }
}

function resultOf(result: SettleVerdict | UnitsMissing) {
  if (typeof result === 'object') return { result: 'settled', missing_units: result.missingUnits };
  return result === 'settled' ? { result } : { result, reason: REASONS[result] };
}

function answered(status: SettleAnswer['status'], body: object): SettleAnswer {
  return { status, body: JSON.stringify(body) };
}
