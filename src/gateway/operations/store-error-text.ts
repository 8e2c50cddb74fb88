/** Says what a failure of the store means to an operator. */
import type { StoreError, StoreErrorReason } from '../core/counting/store.ts';

import { isSilence } from './store-status.ts';

/** Redis refused the request, so nothing changed. After any other failure the reply may only have been late or lost. */
const REFUSALS: readonly StoreErrorReason[] = [
  'refused',
  'overloaded',
  'given_up',
  'loading',
  'readonly',
  'oom',
  'misconf',
  'busy',
  'clusterdown',
  'nolua',
  'noperm',
  'wrongpass',
];

export function isRefusal({ reason }: StoreError): boolean {
  return REFUSALS.includes(reason);
}

/** `Redis failed (oom)`, `Redis does not answer (timeout)` */
export function storeErrorText({ message, reason }: StoreError): string {
  const remedy =
    reason === 'noperm' ? '; headgate check --redis says which right its account lacks' : '';
  const what = isSilence(reason) ? 'Redis does not answer' : message;
  return `${what} (${reason})${remedy}`;
}
