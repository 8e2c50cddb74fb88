/**
 * What operators can ask of a running gateway, or have it do: each by its name, with input that was checked before and
 * output that can be sent on. Each rejects with an OperationError when it cannot be done.
 */
import { dryRun, localDryRun } from '../core/dry-run.ts';
import { StoreError } from '../core/store.ts';
import { OverrideStoreFull } from '../stores/override-store.ts';
import { clientOperations } from './clients.ts';
import { denialOperations } from './denials.ts';
import { type ExplainedRequest, explain } from './explain.ts';
import { logOperations } from './logging.ts';
import { OperationError } from './operation-error.ts';
import { overrideReport } from './override-report.ts';
import { policyOperations } from './policies.ts';
import type { Gateway } from './running-gateway.ts';
import { statsReport } from './stats.ts';
import { troubleText } from './store-trouble.ts';

export const OPERATIONS = [
  'block',
  'decision',
  'exempt',
  'explain',
  'listOverrides',
  'listPolicies',
  'reset',
  'restoreLog',
  'restoreMode',
  'setLog',
  'setMode',
  'stats',
  'top',
  'unblock',
  'unexempt',
] as const;
export type OperationName = (typeof OPERATIONS)[number];

type Asked = Omit<ExplainedRequest, 'headers'> & {
  readonly headers: Readonly<Record<string, string | string[]>>;
};

/** By name, so that it can be asked of another process. */
export type Operate = (name: OperationName, input: unknown) => Promise<unknown>;

export function createOperate(gateway: Gateway): Operate {
  const clients = clientOperations(gateway);
  const denials = denialOperations(gateway);
  const policies = policyOperations(gateway);
  const log = logOperations(gateway);
  const { overrides, salts, reader, now } = gateway;

  const operations = {
    ...clients,
    ...denials,
    listPolicies: policies.list,
    setMode: policies.setMode,
    restoreMode: policies.restoreMode,
    setLog: log.set,
    restoreLog: log.restore,
    listOverrides: async () => ({ overrides: overrides.list().map(overrideReport) }),
    explain: ({ headers, ...asked }: Asked) =>
      explain(
        { ...asked, headers: fieldsOf(headers) },
        {
          policies: gateway.policies.current,
          salts,
          overrides: overrides.current,
          store: dryRun(reader),
          local: localDryRun(gateway.peekLocally),
          nowMs: now(),
        },
      ),
    stats: async () => statsReport(await gateway.stats(), gateway.unseenHeaders()),
  } satisfies Record<OperationName, (input: never) => Promise<unknown>>;

  return async (name, input) => {
    try {
      return await (operations[name] as (input: unknown) => Promise<unknown>)(input);
    } catch (error) {
      throw operationError(error);
    }
  };
}

/** A value for each name, or several. */
function fieldsOf(headers: Asked['headers']): ExplainedRequest['headers'] {
  return Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
}

function operationError(error: unknown): unknown {
  if (error instanceof OverrideStoreFull) {
    return new OperationError(
      'conflict',
      `${error.message}: lift some overrides, or write them into the policy file`,
      { cause: error },
    );
  }
  if (error instanceof StoreError) {
    return new OperationError('store_unavailable', troubleText(error), { cause: error });
  }
  return error;
}
