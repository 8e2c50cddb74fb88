/** A replay from the opened log to its report. */
import { availableParallelism } from 'node:os';
import type { ParseOptions } from '../formats/log-format.ts';
import type { MappedField } from '../log-request.ts';
import { hostPoliciesOf, policySetOf, type ReadPolicies } from '../policies.ts';
import type { OpenLog } from '../reading/open-log.ts';
import { indivisible } from './division.ts';
import { type ReplayReport, reportOn } from './report.ts';
import { type ChunkEvents, startThreads } from './threads.ts';

export interface ReplayRun {
  readonly log: OpenLog;
  readonly parsing: ParseOptions;
  readonly policies: ReadPolicies;
  readonly against: ReadPolicies | undefined;
  readonly mapping: readonly MappedField[];
  /** How much earlier than a line before it a request may start, in milliseconds. */
  readonly horizonMs: number;
  /** Undefined: one for each core, if the clients can be divided. */
  readonly threads: number | undefined;
  readonly showsAddresses: boolean;
  readonly keepsMisread: boolean;
  readonly events: ChunkEvents;
  /** Ends the reading early; what was read is reported. */
  readonly signal: AbortSignal;
}

/** More threads gain little, because each of them parses all lines. */
const MAX_THREADS = 8;
