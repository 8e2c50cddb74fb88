/** What an operator asked for cannot be done, and why. */

export type OperationErrorCode =
  | 'invalid'
  | 'not_found'
  /** There are too many overrides. */
  | 'conflict'
  | 'store_unavailable'
  /** Of the gateway: its log says which. */
  | 'internal_error';

export class OperationError extends Error {
  override readonly name = 'OperationError';
  readonly code: OperationErrorCode;

  constructor(code: OperationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
