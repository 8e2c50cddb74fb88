/** The gateway does not do it, or does not answer, or is none. */
export class GatewayRefused extends Error {
  override readonly name = 'GatewayRefused';
  readonly code = 'HEADGATE_GATEWAY_REFUSED';
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
