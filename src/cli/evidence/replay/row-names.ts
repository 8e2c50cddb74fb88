/** The names of rows in a report for people. */
import type { LimitReport, RefusalReport } from './report.ts';

/** `plan gold: 100 requests per minute` */
export function limitText({ plan, allows }: Pick<LimitReport, 'plan' | 'allows'>): string {
  return plan === undefined ? allows : `plan ${plan}: ${allows}`;
}

const REFUSALS: Readonly<Record<string, string>> = {
  ambiguous_identity: 'a header that identifies the client is ambiguous',
  blocked: 'the policy file blocks the client',
  malformed_host: 'the host is malformed',
  malformed_mcp: 'a header of an MCP call is malformed',
  malformed_path: 'the path is malformed',
};

/** `refused: the path is malformed` */
export function refusalText({ reason }: Pick<RefusalReport, 'reason'>): string {
  return `refused: ${REFUSALS[reason] ?? reason}`;
}

/** A denial that no policy gave has `none` in JSON. */
export function deniedByText(policy: string): string {
  return policy === 'none' ? 'refused before a policy' : policy;
}
