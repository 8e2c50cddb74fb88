/** Every operation by its name. The API routes, openapi.json, the docs and the commands follow from this table. */
import type { z } from 'zod';
import type { Operation } from './operation.ts';
import { BLOCK, EXEMPT, RESET, UNBLOCK, UNEXEMPT } from './schemas/clients.ts';
import { DECISION, FIND_DENIED, TOP } from './schemas/denials.ts';
import { EXPLAIN } from './schemas/explain.ts';
import { INSPECT } from './schemas/inspect.ts';
import {
  ADD_KEY,
  CHANGE_KEYS,
  IMPORT_KEYS,
  LIST_KEYS,
  REVOKE_KEYS,
  ROTATE_KEY,
} from './schemas/keys.ts';
import {
  LIST_OVERRIDES,
  LIST_POLICIES,
  RESTORE_LOG,
  RESTORE_MODE,
  SET_LOG,
  SET_MODE,
} from './schemas/overrides.ts';
import { OVERVIEW } from './schemas/overview.ts';
import { STATS } from './schemas/stats.ts';

export const OPERATIONS = {
  overview: OVERVIEW,
  stats: STATS,
  explain: EXPLAIN,
  decision: DECISION,
  top: TOP,
  findDenied: FIND_DENIED,
  inspect: INSPECT,
  reset: RESET,
  block: BLOCK,
  unblock: UNBLOCK,
  exempt: EXEMPT,
  unexempt: UNEXEMPT,
  listOverrides: LIST_OVERRIDES,
  listPolicies: LIST_POLICIES,
  setMode: SET_MODE,
  restoreMode: RESTORE_MODE,
  setLog: SET_LOG,
  restoreLog: RESTORE_LOG,
  addKey: ADD_KEY,
  listKeys: LIST_KEYS,
  changeKeys: CHANGE_KEYS,
  rotateKey: ROTATE_KEY,
  revokeKeys: REVOKE_KEYS,
  importKeys: IMPORT_KEYS,
} satisfies Readonly<Record<string, Operation>>;

export type OperationName = keyof typeof OPERATIONS;
type Schemas<Name extends OperationName> = (typeof OPERATIONS)[Name];

/** What a caller sends; fields with a default may be absent. */
export type Call<Name extends OperationName> = z.input<Schemas<Name>['input']>;
export type Input<Name extends OperationName> = z.output<Schemas<Name>['input']>;
export type Output<Name extends OperationName> = z.output<Schemas<Name>['output']>;
