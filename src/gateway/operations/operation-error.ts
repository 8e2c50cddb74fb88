/** The reason why an operation could not be done, worded for the operator. */

export type OperationErrorCode =
  | 'invalid'
  | 'not_found'
  /** The call is right, but the policy file or the kind of client does not allow it. */
  | 'not_possible'
  /** The maximum number of overrides is reached. */
  | 'conflict'
  | 'store_unavailable'
  /** A fault of headgate; its log has the details. */
  | 'internal_error';

export class OperationError extends Error {
  override readonly name = 'OperationError';
  readonly code: OperationErrorCode;

  constructor(code: OperationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
