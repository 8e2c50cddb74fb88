/** The gateway refused the call, or did not answer, or the server is not a gateway. */
export class GatewayRefused extends Error {
  override readonly name = 'GatewayRefused';
  readonly code = 'HEADGATE_GATEWAY_REFUSED';
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
