/** `headgate replay` without its command line: opens the log, decides its requests, and reports. */
import { availableParallelism } from 'node:os';
import type { ParseOptions } from '../formats/log-format.ts';
import type { MappedField } from '../log-request.ts';
import { hostPoliciesOf, policySetOf, type ReadPolicies } from '../policies.ts';
import type { MisreadLine } from '../reading/entry-stream.ts';
import { type OpenLog, openLog } from '../reading/open-log.ts';
import { indivisible } from './division.ts';
import { type ReplayReport, reportOn } from './report.ts';
import { startThreads } from './threads.ts';

export interface ReplayRun {
  readonly log: OpenLog;
  readonly parsing: ParseOptions;
  readonly policies: ReadPolicies;
  readonly against: ReadPolicies | undefined;
  readonly mapping: readonly MappedField[];
  /** How much earlier than a line before it a request may start, in milliseconds. */
  readonly horizonMs: number;
  /** Undefined: as many as there are cores, if the clients can be divided among them. */
  readonly threads: number | undefined;
  readonly showsAddresses: boolean;
  readonly onLines: (lines: number) => void;
  /** Lines that are not understood. Undefined if nobody wants them all. */
  readonly onMisread: ((lines: readonly MisreadLine[]) => void) | undefined;
  /** Ends the reading early; what was read is reported. */
  readonly signal: AbortSignal;
}
