import type { UnseenHeader } from '../core/header-watch.ts';
import { isMcpHeader } from '../core/mcp/mcp-call.ts';

/** `none of 1000 requests through nginx had x-api-key` */
export function unseenText({ dialect, header, requests }: UnseenHeader): string {
  return `none of ${requests} ${isMcpHeader(header) ? 'MCP calls' : 'requests'} through ${dialect} had ${header}`;
}

export function unseenAdvice(unseen: UnseenHeader, hasProxyConfig: boolean): string {
  const command = `headgate proxy-config ${unseen.dialect} --policies FILE`;
  const remedy = `pass the header on${hasProxyConfig ? `, as the configuration from ${command} does` : ''}`;
  const [effect, otherwise] = isMcpHeader(unseen.header)
    ? [
        'their calls count as ones without headers (method: none)',
        'nothing is wrong if all clients are older than MCP 2026-07-28',
      ]
    : ['they share limits', 'if no client sends it, remove it from the policy file'];
  return `${unseenText(unseen)}: if clients send it, the proxy does not pass it on, and ${effect}; ${remedy}; ${otherwise}`;
}
