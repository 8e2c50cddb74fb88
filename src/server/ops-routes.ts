/** The routes of the ops API: what each takes and answers, and which operation it is. */
import type { OperationName } from '../operations/operations.ts';
import * as schemas from './ops-schemas.ts';

export interface OpsRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly operation: OperationName;
  readonly summary: string;
  readonly params?: object;
  readonly query?: object;
  readonly body?: object;
  readonly answer: object;
}

export const OPS_ROUTES: readonly OpsRoute[] = [
  {
    method: 'GET',
    url: '/stats',
    operation: 'stats',
    summary: 'What counting takes up: windows, memory, the state of Redis',
    answer: schemas.stats,
  },
  {
    method: 'POST',
    url: '/v1/explain',
    operation: 'explain',
    summary: 'What would be made of a request now, and why; nothing is counted',
    body: schemas.explained,
    answer: schemas.explanation,
  },
  {
    method: 'GET',
    url: '/v1/decisions/:id',
    operation: 'decision',
    summary: 'What became of a recent denial',
    params: schemas.decisionParam,
    answer: schemas.decision,
  },
  {
    method: 'GET',
    url: '/v1/clients/top',
    operation: 'top',
    summary:
      'Who was denied in the last five minutes, by all gateways, the most often denied first',
    query: schemas.topQuery,
    answer: schemas.top,
  },
  {
    method: 'POST',
    url: '/v1/clients/reset',
    operation: 'reset',
    summary: 'Forget what was counted of a client',
    body: schemas.reset,
    answer: schemas.ofReset,
  },
  {
    method: 'POST',
    url: '/v1/clients/block',
    operation: 'block',
    summary: 'Let a client in nowhere, for a time',
    body: schemas.clientOverride,
    answer: schemas.override,
  },
  {
    method: 'POST',
    url: '/v1/clients/unblock',
    operation: 'unblock',
    summary: 'End the block of a client',
    body: schemas.liftedClient,
    answer: schemas.named,
  },
  {
    method: 'POST',
    url: '/v1/clients/exempt',
    operation: 'exempt',
    summary: 'Hold a client to no limit, for a time',
    body: schemas.clientOverride,
    answer: schemas.override,
  },
  {
    method: 'POST',
    url: '/v1/clients/unexempt',
    operation: 'unexempt',
    summary: 'End the exemption of a client',
    body: schemas.liftedClient,
    answer: schemas.named,
  },
  {
    method: 'GET',
    url: '/v1/overrides',
    operation: 'listOverrides',
    summary: 'The overrides in force, the first to end first',
    answer: schemas.overrides,
  },
  {
    method: 'GET',
    url: '/v1/policies',
    operation: 'listPolicies',
    summary: 'The policies, and in which mode they are',
    answer: schemas.policies,
  },
  {
    method: 'PUT',
    url: '/v1/policies/:policy/mode',
    operation: 'setMode',
    summary: 'Take a policy to another mode, for a time',
    params: schemas.policyParam,
    body: schemas.modeOverride,
    answer: schemas.override,
  },
  {
    method: 'DELETE',
    url: '/v1/policies/:policy/mode',
    operation: 'restoreMode',
    summary: 'Give a policy the mode of the file again',
    params: schemas.policyParam,
    query: schemas.byQuery,
    answer: schemas.restored,
  },
  {
    method: 'PUT',
    url: '/v1/log',
    operation: 'setLog',
    summary: 'Another log level, or lines of some allowed requests, for a time',
    body: schemas.logOverride,
    answer: schemas.overrides,
  },
  {
    method: 'DELETE',
    url: '/v1/log',
    operation: 'restoreLog',
    summary: 'Log as at the start again',
    query: schemas.byQuery,
    answer: schemas.restored,
  },
];
