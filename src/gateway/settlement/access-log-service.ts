/** `envoy.service.accesslog.v3.AccessLogService`: Envoy reports finished requests, also those that clients aborted. */
import { readAccessLog } from './access-log.ts';
import type { Settle } from './channel.ts';

export function accessLogService(settle: Settle) {
  return {
    name: 'envoy.service.accesslog.v3.AccessLogService',
    method: 'StreamAccessLogs',
    /** Throws MalformedMessage. */
    take: (message: Buffer) =>
      readAccessLog(message, (token, outcome) => void settle(token, outcome, 'envoy')),
  };
}
