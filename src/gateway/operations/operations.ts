/** Runs operations by name, so that another process can call one: checks the input, runs it, checks the output. */
import type { z } from 'zod';
import { StoreError } from '../core/counting/store.ts';
import { OverrideStoreFull } from '../stores/overrides/override.ts';
import { removeAccess, resetClient, setAccess } from './clients.ts';
import { replyTo as replyToDenialQuery } from './denial-queries.ts';
import { describeDecision, topDenied } from './denials.ts';
import { explainNow } from './explain.ts';
import { reportOfGateway, reportQuerySchema } from './gateway-report.ts';
import { mistakesIn } from './input-mistakes.ts';
import { inspectClient } from './inspect.ts';
import { importKeys } from './key-import.ts';
import { addKey, changeKeys, listKeys, revokeKeys, rotateKey } from './keys.ts';
import { OperationError } from './operation-error.ts';
import { type Input, OPERATIONS, type OperationName } from './operation-table.ts';
import { overrideReport } from './override-report.ts';
import { createOverview } from './overview.ts';
import { listPolicies, restoreLog, restoreMode, setLog, setMode } from './policies.ts';
import type { Gateway } from './running-gateway.ts';
import { readStats } from './stats.ts';
import { storeErrorText } from './store-text.ts';

/** Rejects with an OperationError. */
export type Operate = (name: OperationName, input: unknown) => Promise<unknown>;

type Runs = {
  readonly [Name in Exclude<OperationName, 'overview'>]: (
    gateway: Gateway,
    input: Input<Name>,
  ) => Answer<Name> | Promise<Answer<Name>>;
};
type Answer<Name extends OperationName> = z.input<(typeof OPERATIONS)[Name]['output']>;

const RUNS: Runs = {
  stats: readStats,
  explain: explainNow,
  decision: describeDecision,
  top: topDenied,
  findDenied: topDenied,
  inspect: inspectClient,
  reset: resetClient,
  block: (gateway, input) => setAccess(gateway, 'blocked', input),
  unblock: (gateway, input) => removeAccess(gateway, 'blocked', input),
  exempt: (gateway, input) => setAccess(gateway, 'exempt', input),
  unexempt: (gateway, input) => removeAccess(gateway, 'exempt', input),
  listOverrides: ({ overrides, policies }) => ({
    overrides: overrides.list().map((each) => overrideReport(each, policies.current.listedClients)),
  }),
  listPolicies,
  setMode,
  restoreMode,
  setLog,
  restoreLog,
  addKey,
  listKeys,
  changeKeys,
  rotateKey,
  revokeKeys,
  importKeys,
};

export function createOperate(gateway: Gateway): Operate {
  const overview = createOverview(gateway);
  return async (name, input) => {
    try {
      const { input: inputSchema, output } = OPERATIONS[name];
      const given = readInput(inputSchema, input);
      // Its thousands of numbers were checked when the gateways answered, so they are not parsed again.
      if (name === 'overview') return await overview();
      const run = RUNS[name] as (gateway: Gateway, input: unknown) => unknown;
      // The schema leaves out what operators are not shown.
      return output.parse(await run(gateway, given));
    } catch (error) {
      throw operationErrorFrom(error);
    }
  };
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
export async function replyTo(gateway: Gateway, message: unknown): Promise<unknown> {
  const { data } = reportQuerySchema.safeParse(message);
  return data === undefined ? replyToDenialQuery(gateway, message) : reportOfGateway(gateway, data);
}

/** Throws an OperationError that lists every mistake as `field: mistake`. */
function readInput<Input extends z.ZodObject>(schema: Input, input: unknown): z.output<Input> {
  const { success, data, error } = schema.safeParse(input, { reportInput: true });
  if (success) return data;
  throw new OperationError('invalid', mistakesIn(error));
}
