/** Runs operations by name, so that another process can ask for one: checks the input, runs it, checks the output. */
import type { z } from 'zod';
import { dryRun, localDryRun } from '../core/counting/dry-run.ts';
import { type QuotaReader, StoreError } from '../core/counting/store.ts';
import { OverrideStoreFull } from '../stores/overrides/override-store.ts';
import {
  blockClient,
  exemptClient,
  resetClient,
  unblockClient,
  unexemptClient,
} from './clients.ts';
import { describeDecision, topDenied } from './denials.ts';
import { type ExplainedRequest, explain } from './explain.ts';
import { inspectClient } from './inspect.ts';
import { restoreLog, setLog } from './log-settings.ts';
import type { Operation } from './operation.ts';
import { OperationError } from './operation-error.ts';
import { type Input, OPERATIONS, type OperationName, type Output } from './operation-table.ts';
import { overrideReport } from './override-report.ts';
import { gatherOverview } from './overview.ts';
import { listPolicies, restoreMode, setMode } from './policies.ts';
import { readInput } from './read-input.ts';
import type { Gateway } from './running-gateway.ts';
import { sharedAnswer } from './shared-answer.ts';
import { readStats } from './stats.ts';
import { storeErrorText } from './store-error-text.ts';
import { unavailableText } from './store-silence.ts';

export type { OperationName };

/** Rejects with an OperationError if the input is invalid or the operation cannot be done. */
export type Operate = (name: OperationName, input: unknown) => Promise<unknown>;

type Run = (input: unknown) => Promise<unknown>;

export function createOperate(gateway: Gateway): Operate {
  const run: Readonly<Record<OperationName, Run>> = {
    overview: overviewOf(gateway),
    stats: runOf(OPERATIONS.stats, () => readStats(gateway)),
    explain: runOf(OPERATIONS.explain, (request) => explainNow(gateway, request)),
    decision: runOf(OPERATIONS.decision, (input) => describeDecision(gateway, input)),
    top: runOf(OPERATIONS.top, (input) => topDenied(gateway, input)),
    findDenied: runOf(OPERATIONS.findDenied, (input) => topDenied(gateway, input)),
    inspect: runOf(OPERATIONS.inspect, (input) => inspectClient(gateway, input)),
    reset: runOf(OPERATIONS.reset, (input) => resetClient(gateway, input)),
    block: runOf(OPERATIONS.block, (input) => blockClient(gateway, input)),
    unblock: runOf(OPERATIONS.unblock, (input) => unblockClient(gateway, input)),
    exempt: runOf(OPERATIONS.exempt, (input) => exemptClient(gateway, input)),
    unexempt: runOf(OPERATIONS.unexempt, (input) => unexemptClient(gateway, input)),
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

/** The output schema leaves out what operators are not shown. */
function runOf<Input extends z.ZodObject, Output extends z.ZodType>(
  { input: inputSchema, output }: Operation<Input, Output>,
  act: (input: z.output<Input>) => Promise<z.input<Output>>,
): Run {
  return async (input) => output.parse(await act(readInput(inputSchema, input)));
}

/** Pages poll it. What is older than a second is gathered again. */
const OVERVIEW_FOR_MS = 1_000;

/** The output is not parsed: its thousands of numbers were checked when the gateways answered. */
function overviewOf(gateway: Gateway): Run {
  const gather = sharedAnswer(() => gatherOverview(gateway), {
    forMs: OVERVIEW_FOR_MS,
    now: gateway.now,
    // An operator sees his own action at once.
    basis: () => gateway.status.actions.list,
  });
  return async (input) => {
    readInput(OPERATIONS.overview.input, input);
    return gather();
  };
}

async function explainNow(
  gateway: Gateway,
  { headers, ...request }: Input<'explain'>,
): Promise<Output<'explain'>> {
  let failure: StoreError | undefined;
  const peek: QuotaReader['peek'] = async (descriptors) => {
    try {
      return await gateway.reader.peek(descriptors);
    } catch (error) {
      if (error instanceof StoreError) failure = error;
      throw error;
    }
  };
  const { steps, answer } = await explain(
    { ...request, headers: fieldsOf(headers) },
    {
      policies: gateway.policies.current,
      salts: gateway.salts,
      overrides: gateway.overrides,
      store: dryRun({ peek }),
      local: localDryRun(gateway.peekLocally),
      nowMs: gateway.now(),
    },
  );
  return {
    steps: [...steps],
    ...(failure && { store_unavailable: unavailableText(failure, gateway) }),
    answer: { ...answer, headers: [...answer.headers] },
  };
}

/** One entry for each value of each name. */
function fieldsOf(headers: Input<'explain'>['headers']): ExplainedRequest['headers'] {
  return Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
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
