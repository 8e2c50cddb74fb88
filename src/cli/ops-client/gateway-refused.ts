/** The gateway refused the call, or did not answer, or the server is not a gateway. */
import { CommandFailed } from '../output/command-failed.ts';

export class GatewayRefused extends CommandFailed {
  override readonly name = 'GatewayRefused';
  readonly code = 'HEADGATE_GATEWAY_REFUSED';
}
