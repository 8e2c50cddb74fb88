/** What is said of a header that no request through a proxy had. */
import type { UnseenHeader } from '../core/header-watch.ts';
import { DIALECTS } from '../dialects/index.ts';

/** `none of 1000 requests through nginx had x-api-key` */
export function unseenText({ dialect, header, requests }: UnseenHeader): string {
  return `none of ${requests} requests through ${dialect} had ${header}`;
}

/** The same, with what it may mean and what to do. */
export function doubtText(doubt: UnseenHeader): string {
  const { dialect } = doubt;
  const hasFile = DIALECTS.some(({ name, hasProxyConfig }) => name === dialect && hasProxyConfig);
  const file = hasFile ? `run headgate proxy-config ${dialect} --policies FILE, or ` : '';
  return `${unseenText(doubt)}: if clients send it, the proxy does not pass it on, and their limits are shared; ${file}pass the header on; if nobody sends it, take it out of the policy file`;
}
