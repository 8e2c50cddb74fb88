/** Runs operations by name, so that another process can call one: checks the input, runs it, checks the output. */
import type { z } from 'zod';
import { StoreError } from '../core/counting/store.ts';
import { OverrideStoreFull } from '../stores/overrides/override.ts';
import { removeAccess, resetClient, setAccess } from './clients.ts';
import { answerQuery as answerDenialQuery } from './denial-queries.ts';
import { describeDecision, topDenied } from './denials.ts';
import { explainNow } from './explain.ts';
import { reportOfGateway, reportQuerySchema } from './gateway-report.ts';
import { inspectClient } from './inspect.ts';
import type { Operation } from './operation.ts';
import { OperationError } from './operation-error.ts';
import { OPERATIONS, type OperationName } from './operation-table.ts';
import { overrideReport } from './override-report.ts';
import { createOverview } from './overview.ts';
import { listPolicies, restoreLog, restoreMode, setLog, setMode } from './policies.ts';
import type { Gateway } from './running-gateway.ts';
import { readStats } from './stats.ts';
import { storeErrorText } from './store-text.ts';

/** Rejects with an OperationError. */
export type Operate = (name: OperationName, input: unknown) => Promise<unknown>;

type Run = (input: unknown) => Promise<unknown>;

export function createOperate(gateway: Gateway): Operate {
  const run: Readonly<Record<OperationName, Run>> = {
    overview: overview(createOverview(gateway)),
    stats: runOf(OPERATIONS.stats, () => readStats(gateway)),
    explain: runOf(OPERATIONS.explain, (request) => explainNow(gateway, request)),
    decision: runOf(OPERATIONS.decision, (input) => describeDecision(gateway, input)),
    top: runOf(OPERATIONS.top, (input) => topDenied(gateway, input)),
    findDenied: runOf(OPERATIONS.findDenied, (input) => topDenied(gateway, input)),
    inspect: runOf(OPERATIONS.inspect, (input) => inspectClient(gateway, input)),
    reset: runOf(OPERATIONS.reset, (input) => resetClient(gateway, input)),
    block: runOf(OPERATIONS.block, (input) => setAccess(gateway, 'blocked', input)),
    unblock: runOf(OPERATIONS.unblock, (input) => removeAccess(gateway, 'blocked', input)),
    exempt: runOf(OPERATIONS.exempt, (input) => setAccess(gateway, 'exempt', input)),
    unexempt: runOf(OPERATIONS.unexempt, (input) => removeAccess(gateway, 'exempt', input)),
    listOverrides: runOf(OPERATIONS.listOverrides, async () => ({
      overrides: gateway.overrides
        .list()
        .map((each) => overrideReport(each, gateway.policies.current.listedClients)),
    })),
    listPolicies: runOf(OPERATIONS.listPolicies, async () => listPolicies(gateway)),
    setMode: runOf(OPERATIONS.setMode, (input) => setMode(gateway, input)),
    restoreMode: runOf(OPERATIONS.restoreMode, (input) => restoreMode(gateway, input)),
    setLog: runOf(OPERATIONS.setLog, (input) => setLog(gateway, input)),
    restoreLog: runOf(OPERATIONS.restoreLog, (input) => restoreLog(gateway, input)),
  };
  return async (name, input) => {
    try {
      return await run[name](input);
    } catch (error) {
      throw operationErrorFrom(error);
    }
  };
}

/** The output is not parsed: its thousands of numbers were checked when the gateways answered. */
function overview(gather: () => Promise<unknown>): Run {
  return async (input) => {
    readInput(OPERATIONS.overview.input, input);
    return gather();
  };
}

/** The output schema leaves out what operators are not shown. */
function runOf<Input extends z.ZodObject, Output extends z.ZodType>(
  { input: inputSchema, output }: Operation<Input, Output>,
  act: (input: z.output<Input>) => Promise<z.input<Output>>,
): Run {
  return async (input) => output.parse(await act(readInput(inputSchema, input)));
}

function operationErrorFrom(error: unknown): unknown {
  if (error instanceof OverrideStoreFull) {
    return new OperationError(
      'conflict',
      `${error.message}: lift some overrides, or write them into the policy file`,
      { cause: error },
    );
  }
  if (error instanceof StoreError) {
    return new OperationError('store_unavailable', storeErrorText(error), { cause: error });
  }
  return error;
}

/** The reply of this gateway to a query of another; null for a message that is no query. Never rejects. */
export async function answerQuery(gateway: Gateway, message: unknown): Promise<unknown> {
  const { data } = reportQuerySchema.safeParse(message);
  return data === undefined ? answerDenialQuery(gateway, message) : reportOfGateway(gateway, data);
}

/** How the mistakes name the types of zod. */
const TYPES: Readonly<Partial<Record<string, string>>> = {
  string: 'text',
  int: 'a whole number',
  number: 'a whole number',
  boolean: 'true or false',
  record: 'an object',
  object: 'an object',
};

/** Throws an OperationError that lists every mistake as `field: mistake`. */
function readInput<Input extends z.ZodObject>(schema: Input, input: unknown): z.output<Input> {
  const { success, data, error } = schema.safeParse(input, { reportInput: true });
  if (success) return data;
  throw new OperationError('invalid', error.issues.flatMap(mistakesOf).join('; '));
}

function mistakesOf(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `${key}: is not known`);
  const field = issue.path.join('.');
  return [field === '' ? wordsOf(issue) : `${field}: ${wordsOf(issue)}`];
}

function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.input === undefined) return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'string'
        ? `must have at most ${issue.maximum} characters`
        : `must be at most ${issue.maximum}`;
    case 'invalid_format':
      return 'must not contain control characters';
    case 'invalid_union':
      return 'must be text or a list of texts';
    default:
      return issue.message;
  }
}
