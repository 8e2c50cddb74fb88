/** `POST /settle`: applications report what requests turned out to cost. */
import type { Settle, SettleVerdict } from './channel.ts';
import { MalformedReport, type Report, readReports } from './reports.ts';

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
export function settleOverHttp(settle: Settle): (written: string) => Promise<SettleAnswer> {
  const resultOf = async ({ token, outcome }: Report) => {
    const result = await settle(token, outcome, 'settle');
    return result === 'settled' ? { result } : { result, reason: REASONS[result] };
  };
  return async (written) => {
    try {
      const { isBatch, reports } = readReports(written);
      const settlements = await Promise.all(reports.map(resultOf));
      return { status: 200, body: JSON.stringify(isBatch ? { settlements } : settlements[0]) };
    } catch (error) {
      if (!(error instanceof MalformedReport)) throw error;
      const body = JSON.stringify({ error: 'bad_request', message: error.message });
      return { status: 400, body };
    }
  };
}
